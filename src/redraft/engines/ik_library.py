"""ctypes prototypes of the shared library in the `ik-llama-cpp-python` wheel, version 0.1.5.

Spelled out from the `llama.h` that the wheel ships: the wheel's own Python prototypes are private
and differ from the header. Only what `redraft.engines.ik` calls is here. This module knows the C
interface and nothing of sequences, budgets or numerics.
"""

from __future__ import annotations

import ctypes
from ctypes import c_bool, c_char_p, c_float, c_int, c_int8, c_int32, c_size_t, c_uint32, c_void_p
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution, version
from pathlib import Path

from redraft.engines.messages import LibraryMessages, LogCallback
from redraft.engines.progress import ProgressCallback
from redraft.engines.spinning import sleep_at_barriers
from redraft.errors import EngineUnavailable

SUPPORTED_VERSION = "0.1.5"

INSTALL_HINT = f"install it with: pip install ik-llama-cpp-python=={SUPPORTED_VERSION}"


class ModelParams(ctypes.Structure):
    """`struct llama_model_params`."""

    _fields_ = [  # ctypes reads the list once, when the class is made
        ("devices", c_char_p),
        ("n_gpu_layers", c_int32),
        ("mla", c_int32),
        ("split_mode", c_int),
        ("main_gpu", c_int32),
        ("max_gpu", c_int32),
        ("ncmoe", c_int32),
        ("type_k", c_int),
        ("type_v", c_int),
        ("max_ctx_size", c_uint32),
        ("n_seq_max", c_int32),
        ("n_ubatch", c_int32),
        ("amb", c_int32),
        ("fit_margin", c_int32),
        ("fit", c_bool),
        ("worst_graph_tokens", c_int32),
        ("type_k_first", c_int),
        ("type_k_last", c_int),
        ("type_v_first", c_int),
        ("type_v_last", c_int),
        ("n_k_first", c_int32),
        ("n_k_last", c_int32),
        ("n_v_first", c_int32),
        ("n_v_last", c_int32),
        ("tensor_split", c_void_p),
        ("rpc_servers", c_char_p),
        ("progress_callback", ProgressCallback),
        ("progress_callback_user_data", c_void_p),
        ("kv_overrides", c_void_p),
        ("tensor_buft_overrides", c_void_p),
        ("vocab_only", c_bool),
        ("use_mmap", c_bool),
        ("use_mlock", c_bool),
        ("check_tensors", c_bool),
        ("repack_tensors", c_bool),
        ("use_thp", c_bool),
        ("validate_quants", c_bool),
        ("merge_qkv", c_bool),
        ("merge_up_gate_exps", c_bool),
        ("mtp", c_bool),
        ("dry_run", c_bool),
        ("flash_attn", c_bool),
    ]


class ContextParams(ctypes.Structure):
    """`struct llama_context_params`."""

    _fields_ = [
        ("seed", c_uint32),
        ("n_ctx", c_uint32),
        ("n_batch", c_uint32),
        ("n_ubatch", c_uint32),
        ("n_seq_max", c_uint32),
        ("n_threads", c_uint32),
        ("n_threads_batch", c_uint32),
        ("max_extra_alloc", c_int32),
        ("worst_case_tokens", c_int32),
        ("rope_scaling_type", c_int),
        ("pooling_type", c_int),
        ("attention_type", c_int),
        ("rope_freq_base", c_float),
        ("rope_freq_scale", c_float),
        ("yarn_ext_factor", c_float),
        ("yarn_attn_factor", c_float),
        ("yarn_beta_fast", c_float),
        ("yarn_beta_slow", c_float),
        ("yarn_orig_ctx", c_uint32),
        ("defrag_thold", c_float),
        ("cb_eval", c_void_p),
        ("cb_eval_user_data", c_void_p),
        ("type_k", c_int),
        ("type_v", c_int),
        ("type_reduce", c_int),
        ("type_k_first", c_int),
        ("type_k_last", c_int),
        ("type_v_first", c_int),
        ("type_v_last", c_int),
        ("n_k_first", c_int32),
        ("n_k_last", c_int32),
        ("n_v_first", c_int32),
        ("n_v_last", c_int32),
        ("logits_all", c_bool),
        ("embeddings", c_bool),
        ("offload_kqv", c_bool),
        ("flash_attn", c_bool),
        ("mla_attn", c_int),
        ("attn_max_batch", c_int),
        ("fused_moe_up_gate", c_bool),
        ("grouped_expert_routing", c_bool),
        ("fused_up_gate", c_bool),
        ("fused_mmad", c_bool),
        ("rope_cache", c_bool),
        ("graph_reuse", c_bool),
        ("min_experts", c_int),
        ("thresh_experts", c_float),
        ("only_active_experts", c_bool),
        ("k_cache_hadamard", c_bool),
        ("v_cache_hadamard", c_bool),
        ("split_mode_graph_scheduling", c_bool),
        ("scheduler_async", c_bool),
        ("mtp", c_bool),
        ("mtp_op_type", c_int),
        ("abort_callback", c_void_p),
        ("abort_callback_data", c_void_p),
        ("offload_policy", c_void_p),
        ("cuda_params", c_void_p),
    ]


class Batch(ctypes.Structure):
    """`struct llama_batch`."""

    _fields_ = [
        ("n_tokens", c_int32),
        ("token", ctypes.POINTER(c_int32)),
        ("embd", c_void_p),
        ("pos", ctypes.POINTER(c_int32)),
        ("n_seq_id", ctypes.POINTER(c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(c_int32))),
        ("logits", ctypes.POINTER(c_int8)),
        ("all_pos_0", c_int32),
        ("all_pos_1", c_int32),
        ("all_seq_id", c_int32),
    ]


_PROTOTYPES: dict[str, tuple[list[object], object]] = {
    "llama_backend_init": ([], None),
    "llama_log_set": ([LogCallback, c_void_p], None),
    "llama_model_default_params": ([], ModelParams),
    "llama_context_default_params": ([], ContextParams),
    "llama_model_load_from_file": ([c_char_p, ModelParams], c_void_p),
    "llama_free_model": ([c_void_p], None),
    "llama_init_from_model": ([c_void_p, ContextParams], c_void_p),
    "llama_free": ([c_void_p], None),
    "llama_n_vocab": ([c_void_p], c_int32),
    "llama_n_ctx_train": ([c_void_p], c_int32),
    "llama_decode": ([c_void_p, Batch], c_int32),
    "llama_get_logits": ([c_void_p], ctypes.POINTER(c_float)),
    "llama_set_abort_callback": ([c_void_p, c_void_p, c_void_p], None),
    "llama_kv_cache_clear": ([c_void_p], None),
    "llama_kv_cache_seq_rm": ([c_void_p, c_int32, c_int32, c_int32], c_bool),
    "llama_state_seq_get_size": ([c_void_p, c_int32, c_uint32], c_size_t),
    "llama_state_seq_get_data": ([c_void_p, c_void_p, c_size_t, c_int32, c_uint32], c_size_t),
    "llama_state_seq_set_data": ([c_void_p, c_void_p, c_size_t, c_int32, c_uint32], c_size_t),
    "llama_tokenize": (
        [c_void_p, c_char_p, c_int32, ctypes.POINTER(c_int32), c_int32, c_bool, c_bool],
        c_int32,
    ),
    "llama_token_to_piece": ([c_void_p, c_int32, c_char_p, c_int32, c_int32, c_bool], c_int32),
    "llama_token_get_attr": ([c_void_p, c_int32], c_int32),
    "llama_token_is_eog": ([c_void_p, c_int32], c_bool),
    "llama_token_is_control": ([c_void_p, c_int32], c_bool),
}

MESSAGES = LibraryMessages()


@cache
def load() -> ctypes.CDLL:
    """The shared library with its prototypes set, loaded once a process.

    Raises EngineUnavailable where the wheel is missing, of another version or not loadable.
    """
    try:
        found = version("ik-llama-cpp-python")
        files = distribution("ik-llama-cpp-python").locate_file("ik_llama_cpp/lib/libllama.so")
    except PackageNotFoundError as error:
        raise EngineUnavailable(f"the ik engine is not installed; {INSTALL_HINT}") from error
    if found != SUPPORTED_VERSION:
        raise EngineUnavailable(
            f"the ik engine is version {found}, whose C structures are not known; {INSTALL_HINT}"
        )
    sleep_at_barriers()
    try:
        library = ctypes.CDLL(str(Path(str(files))))
    except OSError as error:
        raise EngineUnavailable(f"the ik engine does not load on this machine: {error}") from error
    for name, (arguments, result) in _PROTOTYPES.items():
        function = getattr(library, name)
        function.argtypes, function.restype = arguments, result
    library.llama_log_set(MESSAGES.callback, None)
    library.llama_backend_init()
    return library
