# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""Conversion between values of the user and values of the runtime.

| TFF value | value of the runtime |
| --- | --- |
| tensor | an eager `tf.Tensor` |
| dataset | its variant tensor |
| struct | a list |
| function inside of a computation | a callable of one argument |
| value at the server | the value itself |
| value at clients | a tuple with one value per client, or an `AllEqual` |
"""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
import tensorflow_federated as tff

from tff_semifl import private_api
from tff_semifl.runtime import graph_functions
from tff_semifl.runtime import sites


class AllEqual(NamedTuple):
  """A value that all clients share, for any number of clients."""

  member: Any


def num_clients(value: Any, value_type: tff.Type) -> int | None:
  """The number of clients; None if the argument has no values at clients."""
  counts = _count_clients(value, value_type)
  if len(counts) > 1:
    raise ValueError(
      # TFF's own contexts begin with these two words.
      'Conflicting cardinalities: the arguments at the clients are for '
      f'different numbers of clients: {sorted(counts)}. The type of the '
      f'argument is {value_type}.'
    )
  return counts.pop() if counts else None


def _count_clients(value: Any, value_type: tff.Type) -> set[int]:
  if isinstance(value_type, tff.FederatedType) and not value_type.all_equal:
    if not isinstance(value, (list, tuple)):
      raise TypeError(
        f'Expected a list with one value per client for {value_type}, found '
        f'{type(value)}.'
      )
    return {len(value)}
  if isinstance(value_type, tff.StructType):
    return set().union(
      *(_count_clients(v, t) for v, t in _struct_items(value, value_type))
    )
  return set()


def embed(value: Any, value_type: tff.Type) -> Any:
  """Converts a value of the user to a value of the runtime."""
  if isinstance(value_type, tff.TensorType):
    return _embed_tensor(value, value_type)
  if isinstance(value_type, tff.SequenceType):
    return _embed_sequence(value, value_type)
  if isinstance(value_type, tff.StructType):
    return [embed(v, t) for v, t in _struct_items(value, value_type)]
  if isinstance(value_type, tff.FederatedType):
    if not value_type.all_equal:
      return tuple(embed(v, value_type.member) for v in value)
    member = embed(value, value_type.member)
    return AllEqual(member) if value_type.placement is tff.CLIENTS else member
  raise TypeError(f'A {type(value)} cannot be passed as {value_type}.')


def extract(value: Any, value_type: tff.Type) -> Any:
  """Converts a value of the runtime to a result as TFF's contexts return it.

  Results are NumPy arrays and scalars, `bytes` and datasets, in the Python
  containers of the type.
  """
  return private_api.type_conversions.type_to_py_container(
    _to_struct(value, value_type, lambda tensor: tensor.numpy()), value_type
  )


def to_element_spec(element_type: tff.Type) -> Any:
  """The `element_spec` of a dataset with elements of a type."""
  return private_api.type_conversions.type_to_tf_structure(element_type)


def to_dataset(variant: tf.Tensor, element_type: tff.Type) -> tf.data.Dataset:
  """The dataset of a variant tensor, with elements of `element_type`."""
  return tf.data.experimental.from_variant(
    variant, to_element_spec(element_type)
  )


def _struct_items(value: Any, value_type: tff.StructType):
  parts = tff.structure.from_container(value)
  if len(parts) != len(value_type):
    raise TypeError(
      f'Expected {len(value_type)} elements for {value_type}, found '
      f'{len(parts)}.'
    )
  items = []
  for (name, part), (type_name, part_type) in zip(
    tff.structure.iter_elements(parts),
    tff.structure.iter_elements(value_type),
    strict=True,
  ):
    if name not in (None, type_name):
      raise TypeError(
        f'Expected an element {type_name!r} for {value_type}, found {name!r}.'
      )
    items.append((part, part_type))
  return items


def _embed_tensor(value: Any, value_type: tff.TensorType) -> tf.Tensor:
  """An eager tensor; tensors of the right dtype are not copied."""
  if isinstance(value, tf.Variable):
    value = value.read_value()
  dtype = value_type.dtype.type
  tf_dtype = tf.dtypes.as_dtype(tf.string if dtype is np.str_ else dtype)
  if isinstance(value, tf.Tensor) and value.dtype == tf_dtype:
    if not tf.TensorShape(value_type.shape).is_compatible_with(value.shape):
      raise TypeError(f'Expected {value_type}, found shape {value.shape}.')
    return value
  if tf.is_tensor(value):
    value = value.numpy()
  is_list = isinstance(value, (list, tuple))
  for part in tf.nest.flatten(value) if is_list else [value]:
    if not private_api.array.is_compatible_dtype(part, dtype):
      found = getattr(part, 'dtype', type(part))
      raise TypeError(f'Expected {value_type}, found dtype {found}.')
  if is_list:
    value = np.asarray(value, object if dtype is np.str_ else dtype)
  if not private_api.array.is_compatible_shape(value, value_type.shape):
    raise TypeError(f'Expected {value_type}, found shape {np.shape(value)}.')
  return graph_functions.release_attributes(tf.constant(value, tf_dtype))


def _embed_sequence(value: Any, value_type: tff.SequenceType) -> tf.Tensor:
  if isinstance(value, list):
    value = private_api.tensorflow_utils.make_data_set_from_elements(
      None, value, value_type.element
    )
  if not isinstance(value, tf.data.Dataset | sites.SiteDataset):
    raise TypeError(
      f'Expected a dataset or a list for {value_type}, found {type(value)}.'
    )
  found_type = tff.SequenceType(
    tff.types.tensorflow_to_type(value.element_spec)
  )
  if not value_type.is_assignable_from(found_type):
    raise TypeError(f'Expected {value_type}, found {found_type}.')
  if isinstance(value, sites.SiteDataset):
    # The site replaces this handle by its dataset.
    return value
  return tf.data.experimental.to_variant(
    _to_containers(value, value_type.element)
  )


def _to_containers(dataset, element_type):
  spec = dataset.element_spec
  try:
    tf.nest.assert_same_structure(spec, to_element_spec(element_type))
    return dataset
  except (TypeError, ValueError):
    # `tf.data` unpacks tuples, but not named tuples, into arguments.
    is_tuple = type(spec) is tuple

    def convert(*parts):
      element = embed(parts if is_tuple else parts[0], element_type)
      return private_api.type_conversions.type_to_py_container(
        _to_struct(element, element_type, lambda tensor: tensor), element_type
      )

    return dataset.map(convert)


def _to_struct(value: Any, value_type: tff.Type, tensor_fn: Any) -> Any:
  """Converts a value to `tff.structure.Struct`s, and applies `tensor_fn`."""
  if isinstance(value_type, tff.TensorType):
    return tensor_fn(value)
  if isinstance(value_type, tff.SequenceType):
    return to_dataset(value, value_type.element)
  if isinstance(value_type, tff.StructType):
    return tff.structure.Struct(
      (name, _to_struct(part, part_type, tensor_fn))
      for part, (name, part_type) in zip(
        value, tff.structure.iter_elements(value_type), strict=True
      )
    )
  if isinstance(value_type, tff.FederatedType):
    if isinstance(value, AllEqual):
      value = value.member
    if value_type.all_equal:
      return _to_struct(value, value_type.member, tensor_fn)
    return [
      None if m is None else _to_struct(m, value_type.member, tensor_fn)
      for m in value
    ]
  raise TypeError(f'A value of type {value_type} cannot be returned.')
