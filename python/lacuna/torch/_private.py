# SPDX-License-Identifier: Apache-2.0
"""All that Lacuna takes from torch and torch does not promise, in one file. torch 2.4 to 2.15 have it.

`is_whole` says whether this torch has all of it. Where it has not, `missing` names what it lacks, what is here says
that somebody watches every call, and calls go by what torch promises (_public.py). LACUNA_TORCH_PUBLIC=1 in the
environment has the same effect, for tests.
"""

import contextlib
import functools
import os
import types

import torch


def _take():
    """Names from inside torch, which may go with any version of it."""
    from torch import _C
    from torch._C import _functorch
    from torch.autograd import forward_ad
    from torch.autograd.function import _SingleLevelFunction

    if os.environ.get("LACUNA_TORCH_PUBLIC") == "1":
        raise ImportError("LACUNA_TORCH_PUBLIC is 1")
    return {
        # Who watches a call: levels of torch.func; modes, which tracers are.
        "transforms_active": _C._are_functorch_transforms_active, "modes_active": _C._len_torch_dispatch_stack,
        "is_forward_enabled": _C._is_fwd_grad_enabled, "forward_mode": forward_ad._set_fwd_grad_enabled,
        "is_tracing": _C._is_tracing,  # torch.jit.is_tracing, which asks Python first whether it is a script
        # Autograd functions that take one level at a time, which torch asks to be told.
        "SingleLevelFunction": _SingleLevelFunction,
        "is_single_allowed": _functorch.get_single_level_autograd_function_allowed,
        "allow_single": _functorch.set_single_level_autograd_function_allowed,
        # The levels themselves.
        "GRAD": _functorch.TransformType.Grad, "JVP": _functorch.TransformType.Jvp,
        "top_level": _functorch.peek_interpreter_stack, "level_of": _functorch.maybe_get_level,
        "unwrapped": _functorch._unwrap_for_grad, "wrapped": _functorch._wrap_for_grad,
        "pop_level": _functorch.pop_dynamic_layer_stack, "push_level": _functorch.push_dynamic_layer_stack,
        "levels": _functorch.get_interpreter_stack, "is_wrapped": _functorch.is_functorch_wrapped_tensor,
        "is_batched": _functorch.is_batchedtensor, "batch_axis": _functorch.maybe_get_bdim,
        "unwrapped_once": _functorch.get_unwrapped, "outlived": _functorch.unwrap_if_dead,
        "unwrap_batched": _functorch._unwrap_batched, "add_batched": _functorch._add_batch_dim,
        # torch.autograd.grad(is_grads_batched=True), whose batched tensors torch.func does not know.
        "is_grads_batched": _functorch.is_legacy_batchedtensor, "enter_vmap": _C._vmapmode_increment_nesting,
        "leave_vmap": _C._vmapmode_decrement_nesting, "remove_batch_dim": torch._remove_batch_dim,
        "add_batch_dim": torch._add_batch_dim,
        # The dispatcher below autograd and below vmap.
        "BATCHED": _C.DispatchKeySet(_C.DispatchKey.FuncTorchBatched), "without_keys": _C._ExcludeDispatchKeyGuard,
        "below_autograd": _C._AutoDispatchBelowAutograd, "after_autograd": _C._after_autograd_keyset,
    }  # fmt: skip


def _watched():
    """What stands in their place: everybody may watch, and nothing of levels is known."""
    return {
        "transforms_active": lambda: True, "modes_active": lambda: 1, "is_grads_batched": lambda tensor: False,
        "forward_mode": lambda is_on: contextlib.nullcontext(), "SingleLevelFunction": torch.autograd.Function,
        "levels": lambda: (), "is_wrapped": lambda tensor: False, "JVP": None, "outlived": lambda tensor: tensor,
        "is_tracing": torch.jit.is_tracing,
    }  # fmt: skip


is_whole, missing = True, ""
try:
    globals().update(_take())
except (ImportError, AttributeError) as error:
    is_whole, missing = False, str(error)
    globals().update(_watched())


def is_unwatched():
    """No transform, mode or tracer watches calls."""
    return not transforms_active() and not modes_active() and not is_tracing()  # noqa: F821


def is_calm():
    """The same, and no tensor has a tangent: who asks for derivatives does so through autograd. One call, for all calls
    of tensors ask this."""
    if transforms_active() or modes_active() or is_tracing():  # noqa: F821
        return False
    return torch.autograd.forward_ad._current_level < 0


def in_forward_mode():
    """Whether tensors may have tangents. A graph that is traced enters forward mode without the word of forward_ad."""
    if not is_whole or torch.autograd.forward_ad._current_level >= 0:
        return True
    return transforms_active() and top_level().key() == JVP  # noqa: F821


def lone_grad():
    """The level of a transform in backward mode that no other is around or inside of; None where it is not so."""
    top = top_level() if torch.autograd.forward_ad._current_level < 0 else None  # noqa: F821
    return 1 if top is not None and top.level() == 1 and top.key() == GRAD else None  # noqa: F821


# -- tables of torch's compiler ---------------------------------------------------------------------------------------


def compiled_operators():
    """The module in which torch's compiler keeps what operators of Python do; an ImportError where there is none."""
    from torch._dynamo.variables import builtin

    return builtin


follows_objects = tuple(map(int, torch.__version__.split(".")[:2])) >= (2, 5)
"""Whether torch's compiler follows what Python makes of objects: that of torch 2.4 does not."""


def opaque(cls):
    """Let no compiler read what a class does: compiled code ends a graph at a call of a method, and begins another."""
    for name, one in list(vars(cls).items()):
        if isinstance(one, (classmethod, staticmethod)):
            setattr(cls, name, type(one)(torch.compiler.disable(one.__func__)))
        elif isinstance(one, property):
            setattr(cls, name, property(torch.compiler.disable(one.fget), one.fset, one.fdel, one.__doc__))
        elif isinstance(one, types.FunctionType) and name not in ("__init_subclass__", "__new__"):
            setattr(cls, name, torch.compiler.disable(one))


def _mend_compiler():
    """The compiler of torch 2.4 asks no tensor for its attributes, no number for its digits, and reads no attribute of
    an object that it has as a constant. After the end of a graph it would compile what Lacuna does with NumPy."""
    from torch._dynamo import exc, trace_rules
    from torch._dynamo.variables import ConstantVariable, TupleVariable, builtin, constant, misc, tensor, user_defined
    from torch._dynamo.variables.builder import SourcelessBuilder

    package = os.path.dirname(os.path.dirname(__file__)) + os.sep
    trace_rules.SKIP_DIRS.append(package)
    trace_rules._recompile_re()
    trace_rules.get_mod_inlinelist().add(package)  # read where it is called, and not by itself

    def constant_of(tx, value):
        if type(value) is tuple:
            return TupleVariable([constant_of(tx, one) for one in value])
        try:
            return SourcelessBuilder.create(tx, value)
        except exc.Unsupported:
            return user_defined.UserDefinedObjectVariable(value)

    def extended(cls, name, extension):
        before = getattr(cls, name)
        setattr(cls, name, lambda *arguments: extension(before, *arguments))

    def read(before, self, tx, name):
        try:
            made = before(self, tx, name)
        except NotImplementedError:  # it cannot guard what it has as a constant
            return constant_of(tx, getattr(self.value, name))
        is_unread = type(made) is misc.GetAttrVariable and type(self.value).__module__.startswith("lacuna.")
        return constant_of(tx, getattr(self.value, name)) if is_unread and hasattr(self.value, name) else made

    def has(before, self, tx, name):
        return ConstantVariable(hasattr(self.as_proxy().node.meta["example_value"], name))

    def digits(before, self, tx, name, given, named):
        is_hex = name == "hex" and type(self.value) is float
        return ConstantVariable(self.value.hex()) if is_hex else before(self, tx, name, given, named)

    def number(before, self, tx, name, given, named):
        is_hex = name == "fromhex" and self.fn is float
        return ConstantVariable(float.fromhex(given[0].value)) if is_hex else before(self, tx, name, given, named)

    extended(user_defined.UserDefinedObjectVariable, "var_getattr", read)
    extended(tensor.TensorVariable, "call_hasattr", has)
    extended(constant.ConstantVariable, "call_method", digits)
    extended(builtin.BuiltinVariable, "call_method", number)


if is_whole and not follows_objects:
    _mend_compiler()


def keep_in_graphs(op):
    """Let compilers keep an operator whose result nobody reads, in its order; returns whether they will."""
    try:
        from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

        _register_effectful_op(op, _EffectType.ORDERED)
        torch.fx.has_side_effect(op)  # for those that stop at the first graph
    except (ImportError, AttributeError):
        return False
    return True


# -- memory and streams -----------------------------------------------------------------------------------------------


def empty_on(device, shape, strides, dtype):
    return torch.empty_strided(shape, strides, dtype=dtype, device=device)


def _fast_empty(name):
    """What compiled code allocates with, (shape, strides, dtype): no dispatcher, no default device; None: not here."""
    guards = getattr(getattr(torch._C, "_dynamo", None), "guards", None)
    return getattr(guards, name, None) if is_whole else None


empty_on_cpu = _fast_empty("_empty_strided_cpu") or functools.partial(empty_on, torch.device("cpu"))
_empty_on_current = _fast_empty("_empty_strided_cuda")
_current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
_raw_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_raw_allocate = getattr(torch._C, "_cuda_cudaCachingAllocator_raw_alloc", None)
_raw_release = getattr(torch._C, "_cuda_cudaCachingAllocator_raw_delete", None)


def empty_on_cuda(index):
    """A function of (shape, strides, dtype) that makes a tensor on a CUDA device."""
    if _empty_on_current and _current_device() == index:
        return _empty_on_current
    return functools.partial(empty_on, torch.device("cuda", index))


def current_stream(index):
    """The address of torch's current stream on a CUDA device."""
    return _raw_stream(index) if _raw_stream else torch.cuda.current_stream(index).cuda_stream


def cuda_allocate(index, size, stream):
    """The address of memory for a stream of a CUDA device, from torch's allocator."""
    if _raw_allocate and _current_device() == index:
        return _raw_allocate(size, stream)
    return torch.cuda.caching_allocator_alloc(size, index, stream)


cuda_release = _raw_release or torch.cuda.caching_allocator_delete


def cuda_trim():
    """Let torch's allocator give back what it keeps, unless a graph is captured, which would be spoiled."""
    if not torch.cuda.is_current_stream_capturing():
        torch.cuda.empty_cache()


# -- symbolic sizes ---------------------------------------------------------------------------------------------------


def fixed_size(size):
    """The number behind a size, or None for a symbol."""
    return size if type(size) is int else size.node.maybe_as_int()


def present_size(size):
    """The number that a size is now; nothing is guarded."""
    fixed = fixed_size(size)
    return size.node.hint if fixed is None else fixed


def expression_of(size):
    """What a symbolic size is computed from, as sympy has it."""
    return size.node.expr


def symbols_of(size):
    """{symbol: its size} of what a size is computed from."""
    expression, env = size.node.expr, size.node.shape_env
    if expression.is_Symbol:
        return {expression: size}
    return {s: env.create_symintnode(s, hint=_hint(env, s)) for s in expression.free_symbols}


def _hint(env, symbol):
    """The number that a symbol is now; None where nothing is known."""
    try:
        return int(getattr(env, "guarding_hint_or_throw", env.size_hint)(symbol))  # the name since torch 2.10
    except RuntimeError:
        return None


# -- the dispatcher ---------------------------------------------------------------------------------------------------


def shorten(op, is_short, short):
    """Let calls of an operator of torch's for which is_short(*arguments) holds go to `short`, past the dispatcher."""
    through_dispatcher = op._op

    def call(*arguments, **named):
        if not named and is_short(*arguments):
            return short(*arguments)
        return through_dispatcher(*arguments, **named)

    op._op = call
