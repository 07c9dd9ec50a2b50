# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Tests of the key that noise and cohorts of a private run follow from."""

import hashlib

from absl.testing import absltest
from absl.testing import parameterized

from tff_semifl.privacy import privacy_key

_KEY = privacy_key.PrivacyKey(bytes(range(32)))


class PrivacyKeyTest(parameterized.TestCase):
  def test_keys_that_were_drawn_differ(self):
    keys = [privacy_key.PrivacyKey.draw() for _ in range(20)]
    self.assertLen({key.secret for key in keys}, 20)
    self.assertLen({key.cohort_seed for key in keys}, 20)
    self.assertEqual({len(key.secret) for key in keys}, {32})

  def test_every_bit_counts(self):
    secrets = [1 << bit for bit in range(256)]
    for name in ('noise', 'cohorts'):
      derived = {
        privacy_key.PrivacyKey(secret.to_bytes(32)).derive(name, 16)
        for secret in secrets
      }
      self.assertLen(derived, 256)

  def test_what_is_derived_is_a_keyed_hash(self):
    for name, size in (('noise', 16), ('cohorts', 32)):
      self.assertEqual(
        _KEY.derive(name, size),
        hashlib.blake2b(
          b'', key=bytes(range(32)), person=name.encode(), digest_size=size
        ).digest(),
      )

  def test_equality_is_that_of_all_bits(self):
    self.assertEqual(_KEY, privacy_key.PrivacyKey(bytes(range(32))))
    self.assertNotEqual(_KEY, privacy_key.PrivacyKey(bytes(range(1, 33))))
    self.assertNotEqual(_KEY, _KEY.secret)

  def test_does_not_show_itself(self):
    for text in (repr(_KEY), str(_KEY), f'{_KEY}', f'{[_KEY]}'):
      self.assertIn('PrivacyKey(secret)', text)

  @parameterized.parameters(0, 31, 33)
  def test_key_of_another_length(self, size):
    with self.assertRaisesRegex(ValueError, f'has 32 bytes, not {size}'):
      privacy_key.PrivacyKey(bytes(size))


if __name__ == '__main__':
  absltest.main()
