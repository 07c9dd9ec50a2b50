# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

# ruff: noqa: B023, E731

"""Client priors on features in NumPy, for tests.

Clients' functions return sums over their examples, the server's functions take
these sums added up.
"""

import numpy as np
from scipy.special import digamma
from scipy.special import gammaln

COMPONENTS = 100  # at most; fewer if D or images / 10 are fewer
MIXTURE_ROUNDS, WARM_ROUNDS, HEAD_ROUNDS = 6, 12, 24
LOCAL_ITERATIONS = (
  6  # of a client's own EM for its class shares, each time from m
)
LABEL_WEIGHT = 3.0  # of a labelled image in the head's loss
RIDGE = 1e-3  # of W, where the mean variance of a component is 1
FLOOR = (
  0.05  # of W's share of variance in any direction (clients that do not answer)
)
STRENGTH = (0.1, 1000.0)  # bounds of s; at the upper one clients are alike
LEAK, STEP = 0.9, 0.5  # bias <- LEAK bias + STEP log(m / mean posterior)


def softmax(logits):
  e = np.exp(logits - logits.max(-1, keepdims=True))
  return e / e.sum(-1, keepdims=True)


def ones(x):
  return np.hstack([x, np.ones((len(x), 1))])


def client_moments(x):
  """x [n, D] -> sums."""
  return {'n': float(len(x)), 'x': x.sum(0), 'xx': x.T @ x}


def client_shares(logits, alpha):
  """Variational Bayes of the client's class shares.

  logits [n, C] = log p(x|c) + constant, alpha [C] = s m.
  Returns posteriors [n, C], E log pi [C], gamma [C]."""
  gamma = alpha * (1 + len(logits) / alpha.sum())
  for _ in range(LOCAL_ITERATIONS):
    e = digamma(gamma) - digamma(gamma.sum())
    p = softmax(logits + e)
    gamma = alpha + p.sum(0)
  return p, digamma(gamma) - digamma(gamma.sum()), gamma


def client_mixture(x, weights, alpha):
  """x [n, d], weights [d+1, C] of log p(x|c) -> sums."""
  p, e, _ = client_shares(ones(x) @ weights, alpha)
  return {
    'n': float(len(x)),
    'clients': 1.0,
    'p': p.sum(0),
    'e': e,
    'px': p.T @ x,
  }


def client_head(x, teacher, shift, alpha, head):
  """Posteriors under the linear classifier `teacher` [d+1, C] + shift [C]

  (log p(c|x) -> log p(x|c), bias), and the gradient of the
  soft-label loss at `head` [d+1, C] -> sums."""
  padded = ones(x)
  p, e, _ = client_shares(padded @ teacher + shift, alpha)
  h = softmax(padded @ head)
  return {
    'n': float(len(x)),
    'clients': 1.0,
    'p': p.sum(0),
    'e': e,
    'gradient': padded.T @ (p - h),
    'variance': (h * (1 - h)).sum(0),
    'evidence': client_evidence(x, teacher, shift, alpha)['evidence'],
  }


def client_evidence(x, teacher, shift, alpha):
  """See the arrays below.

  Lower bound of log p(images | shares ~ Dirichlet(alpha)) - log p(images |
  shares = m): what client membership tells of classes.
  """
  logits = ones(x) @ teacher + shift
  p, e, gamma = client_shares(logits, alpha)
  log_m = np.log(alpha / alpha.sum())
  lse = lambda z: z.max(1) + np.log(np.exp(z - z.max(1, keepdims=True)).sum(1))
  kl = (
    gammaln(gamma.sum())
    - gammaln(gamma).sum()
    - gammaln(alpha.sum())
    + gammaln(alpha).sum()
    + ((gamma - alpha) * e).sum()
  )
  return {
    'n': float(len(x)),
    'evidence': (lse(logits + e) - lse(logits + log_m)).sum() - kl,
  }


def server_basis(sums, components=COMPONENTS):
  """Principal components with one scale (mean variance 1).

  Returns mean [D], basis [D, d], variances [d].
  """
  mean = sums['x'] / sums['n']
  values, vectors = np.linalg.eigh(
    sums['xx'] / sums['n'] - np.outer(mean, mean)
  )
  enough = np.clip(sums['n'] / 2, 10, 30)
  d = int(min(components, len(mean), max(enough, sums['n'] / 10)))
  scale = values[-d:].mean()
  return mean, vectors[:, -d:] / np.sqrt(scale), values[-d:].clip(0) / scale


def precision_by_evidence(head, precision, eigenvalues, variance):
  """MacKay's update of the head's penalty: (effective parameters) / |head|^2.

  Eigenvalues [d] of sum x x^T, variance [C] = mean h (1 - h).
  """
  curvature = np.outer(variance, eigenvalues.clip(0))
  effective = (curvature / (curvature + precision)).sum() * (
    1 - 1 / len(variance)
  )
  return float(
    np.clip(effective / max((head[:-1] ** 2).sum(), 1e-12), 1e-2, 1e3)
  )


def preconditioner(second, precision):
  """See the arrays below.

  Inverse of an upper bound of the Hessian (Bohning 1992), second [d+1, d+1] =
  sum x x^T with ones.
  """
  penalty = np.full(len(second), precision)
  penalty[-1] = 1e-6
  return np.linalg.inv(0.5 * second + np.diag(penalty))


def penalty_gradient(head, precision):
  return np.vstack([precision * head[:-1], np.zeros_like(head[-1:])])


def labels_alone(x, targets, steps=300, updates=8):
  """Logistic regression [d+1, C] with its penalty by evidence, on the server.

  X [n, d], targets [n, C].
  """
  padded = ones(x)
  second = padded.T @ padded
  eigenvalues = np.linalg.eigvalsh(x.T @ x)
  head = np.zeros((len(second), targets.shape[1]))
  precision = 10.0
  for _ in range(updates):
    inverse = preconditioner(second, precision)
    point, t = head, 1.0
    for _ in range(steps):  # Nesterov on the fixed Hessian bound
      new = point + inverse @ (
        padded.T @ (targets - softmax(padded @ point))
        - penalty_gradient(point, precision)
      )
      t, old = 0.5 + (0.25 + t * t) ** 0.5, t
      point, head = new + (old - 1) / t * (new - head), new
    h = softmax(padded @ head)
    precision = precision_by_evidence(
      head, precision, eigenvalues, (h * (1 - h)).mean(0)
    )
  return head, precision


def strength(mean_e, m):
  """See the arrays below.

  S that maximises the clients' mean log Dirichlet(E log pi; s m); mean_e [C].
  Bisection in log s.
  """
  low, high = np.log(STRENGTH)
  t = m @ mean_e
  for _ in range(40):
    middle = 0.5 * (low + high)
    s = np.exp(middle)
    low, high = (
      (middle, high)
      if digamma(s) - m @ digamma(s * m) + t > 0
      else (low, middle)
    )
  return float(np.exp(0.5 * (low + high)))


def means(sums):
  """Sums -> per image, and per client for 'e'."""
  return {
    key: value / (sums['clients'] if key == 'e' else sums['n'])
    for key, value in sums.items()
  }


def server_start(x, targets, variances, images):
  """State after the moments.

  X [L, d] labelled, targets [L, C] one-hot, variances [d] of clients' images,
  images: their number.
  """
  head, precision = labels_alone(x, targets)
  m = targets.mean(0)
  return {
    'labels_alone': head,
    'precision': precision,
    'm': m,
    'server_m': m,
    's': float(len(m)),
    'images': images,
    'variances': variances,
    'weights': head - np.vstack([np.zeros_like(head[:-1]), np.log(m)[None]]),
  }


def server_mixture(state, sums, x, targets):
  """M-step in closed form."""
  a, n = means(sums), state['images']
  state['s'], state['p'] = (
    strength(a['e'], state['server_m']),
    (n * a['p'] / a['p'].sum() + len(a['p']) * state['server_m'])
    / (n + len(a['p'])),
  )
  counts = n * a['p'] + targets.sum(0)
  mu = (n * a['px'] + targets.T @ x) / counts[:, None]  # [C], [C, d]
  total = (
    n * np.diag(state['variances']) + x.T @ x
  ) / counts.sum() + RIDGE * np.eye(x.shape[1])
  half = np.sqrt(np.diag(total))
  between = (mu.T * counts) @ mu / counts.sum()
  values, vectors = np.linalg.eigh((total - between) / np.outer(half, half))
  within = np.outer(half, half) * ((vectors * values.clip(FLOOR)) @ vectors.T)
  w = np.linalg.solve(within, mu.T)
  state['weights'] = np.vstack([w, -0.5 * (mu.T * w).sum(0)])


def server_head_start(state, m):
  """A head's own state; m [C].

  The class shares that clients' mean posterior is aligned to.
  """
  zeros = np.zeros((len(state['variances']) + 1, len(m)))
  return {
    'm': m,
    'head': zeros,
    'point': zeros,
    'bias': np.zeros(len(m)),
    't': 1.0,
    **{k: state[k] for k in ('s', 'precision', 'images', 'variances')},
  }


def server_head(state, sums, x, targets, warm):
  """One step of the head. warm: momentum, no alignment."""
  a, n = means(sums), state['images']
  padded = ones(x)
  second = (
    np.diag(np.r_[n * state['variances'], n]) + LABEL_WEIGHT * padded.T @ padded
  )
  if not warm:
    state['s'] = strength(a['e'], state['m'])
    state['bias'] = LEAK * state['bias'] + STEP * (
      np.log(state['m']) - np.log(a['p'] + 1e-9)
    )
    state['precision'] = precision_by_evidence(
      state['head'],
      state['precision'],
      np.linalg.eigvalsh(second[:-1, :-1]),
      a['variance'],
    )
  point = state['point']
  gradient = (
    n * a['gradient']
    + LABEL_WEIGHT * padded.T @ (targets - softmax(padded @ point))
    - penalty_gradient(point, state['precision'])
  )
  new = point + preconditioner(second, state['precision']) @ gradient
  t = 0.5 + (0.25 + state['t'] ** 2) ** 0.5
  state['point'] = new + ((state['t'] - 1) / t if warm else 0) * (
    new - state['head']
  )
  state['head'], state['t'] = new, t


def add(results):
  return {key: sum(r[key] for r in results) for key in results[0]}


def run(x, targets, clients, dropout=0.0, seed=0, components=COMPONENTS):
  """x [L, D], targets [L, C] of the server, clients: list of [n, D].

  Returns state and raw -> log p(c|x) for the server's class shares.
  """
  rng = np.random.default_rng(seed)
  sums = add([client_moments(c) for c in clients])
  mean, basis, variances = server_basis(sums, components)
  project = lambda a: (a - mean) @ basis
  x, clients = project(x), [project(c) for c in clients]
  state = server_start(x, targets, variances, sums['n'])

  def exchange(
    function,
    # A step of the server follows a pass: cohorts until every
    # client was asked once
  ):
    present = [c for c in clients if dropout == 0 or rng.random() >= dropout]
    return add([function(c) for c in present])

  for _ in range(MIXTURE_ROUNDS):
    alpha = state['s'] * state['server_m']
    server_mixture(
      state,
      exchange(lambda c: client_mixture(c, state['weights'], alpha)),
      x,
      targets,
    )
  state['mixture'] = state['weights']
  alpha = state['s'] * state['server_m']
  heads = [
    server_head_start(state, m) for m in (state['p'], state['server_m'])
  ]  # both in the same exchanges
  for i in range(WARM_ROUNDS + HEAD_ROUNDS):
    for h in heads:
      warm = i < WARM_ROUNDS
      if i == WARM_ROUNDS:
        h['point'] = h['head']
      teacher = (
        (state['mixture'], 0.0, alpha)
        if warm
        else (h['head'], h['bias'] - np.log(h['m']), h['s'] * h['m'])
      )
      server_head(
        h,
        exchange(lambda c: client_head(c, *teacher, h['point'])),
        x,
        targets,
        warm,
      )
  for h in heads:
    sums = exchange(
      lambda c: client_evidence(
        c, h['head'], h['bias'] - np.log(h['m']), h['s'] * h['m']
      )
    )
    h['evidence'] = sums['evidence'] / sums['n']
  state |= max(heads, key=lambda h: h['evidence'])
  final = state['head'] + np.vstack(
    [
      np.zeros_like(state['head'][:-1]),
      (np.log(state['server_m']) - np.log(state['m']))[None],
    ]
  )
  state |= {'final': final, 'project': project, 'clients_m': state['p']}
  return state, lambda a: ones(project(a)) @ final
