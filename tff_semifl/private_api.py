# Copyright 2026 The tff_semifl Authors.
# SPDX-License-Identifier: Apache-2.0

"""The private parts of TensorFlow and TFF that this package uses.

No other file imports private names. Check this file first when TensorFlow or
TFF is upgraded.
"""

import tensorflow as tf

# Messages of TensorFlow that `tf.compat.v1` does not export.
from tensorflow.core.protobuf.config_pb2 import CallableOptions
from tensorflow.core.protobuf.rewriter_config_pb2 import RewriterConfig
from tensorflow.python.eager.context import FunctionCallOptions
from tensorflow.python.eager.context import context as eager_context
from tensorflow.python.eager.polymorphic_function.concrete_function import (
  ConcreteFunction,
)
from tensorflow.tsl.profiler.protobuf.xplane_pb2 import XSpace
from tensorflow_federated.proto.v0.computation_pb2 import Computation
from tensorflow_federated.python.core.environments.tensorflow_backend import (
  compiled_computation_transformations as _code_transformations,
)
from tensorflow_federated.python.core.impl.compiler import array
from tensorflow_federated.python.core.impl.compiler import transformation_utils
from tensorflow_federated.python.core.impl.compiler import tree_analysis
from tensorflow_federated.python.core.impl.compiler import tree_transformations
from tensorflow_federated.python.core.impl.executors import value_serialization
from tensorflow_federated.python.core.impl.types import type_analysis
from tensorflow_federated.python.core.impl.types import type_conversions
from tensorflow_federated.python.core.impl.types import type_serialization
from tensorflow_federated.python.core.impl.utils import tensorflow_utils

disable_grappler = (
  _code_transformations.transform_tf_call_ops_to_disable_grappler
)
# (function, arguments, captured tensors or replacements, lists) -> results.
# Calls a concrete function without processing its arguments in Python.
call_flat = ConcreteFunction._call_flat
# (session, `CallableOptions`) -> a function that runs a part of the session's
# graph. TensorFlow optimizes the graph at once. With `Session.make_callable`,
# each of several threads would optimize the graph at its first call.
make_callable = tf.compat.v1.Session._make_callable_from_options
