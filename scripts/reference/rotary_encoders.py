"""Settings of NomicBERT and GTE in the form of their own repositories, for what transformers saved; tensors have those names already."""

import json

#: Names of settings in NomicBERT's own files.
NOMIC = {
    'hidden_size': 'n_embd', 'num_hidden_layers': 'n_layer', 'num_attention_heads': 'n_head', 'intermediate_size': 'n_inner',
    'layer_norm_eps': 'layer_norm_epsilon', 'max_position_embeddings': 'n_positions',
}  # fmt: skip
#: Settings beside the sizes.
PUBLISHED = {
    'nomic': {
        'architectures': ['NomicBertModel'], 'model_type': 'nomic_bert', 'activation_function': 'swiglu', 'causal': False,
        'prenorm': False, 'qkv_proj_bias': False, 'mlp_fc1_bias': False, 'mlp_fc2_bias': False, 'rotary_emb_base': 1000,
        'rotary_emb_fraction': 1.0, 'rotary_emb_interleaved': False, 'rotary_emb_scale_base': None, 'rotary_scaling_factor': None,
        'n_positions': 8192, 'max_trained_positions': 2048,
        'auto_map': {'AutoModel': 'nomic-ai/nomic-bert-2048--modeling_hf_nomic_bert.NomicBertModel'},
    },
    'gte': {
        'architectures': ['NewModel', 'NewForTokenClassification'], 'model_type': 'new', 'pack_qkv': True,
        'position_embedding_type': 'rope', 'rope_theta': 500, 'rope_scaling': {'factor': 8.0, 'type': 'ntk'},
        'layer_norm_type': 'layer_norm', 'auto_map': {'AutoModel': 'Alibaba-NLP/new-impl--modeling.NewModel'},
    },
}  # fmt: skip


def publish(folder, kind):
    path = folder / 'config.json'
    config = json.loads(path.read_text())
    for key in ('rope_parameters', 'head_dim', *(['hidden_act'] if kind == 'nomic' else [])):
        config.pop(key, None)
    renamed = {NOMIC.get(key, key) if kind == 'nomic' else key: value for key, value in config.items()}
    path.write_text(json.dumps(renamed | PUBLISHED[kind], indent=2) + '\n')
