"""The tiny checkpoints of FLUX.1 and Chroma, with heads and axes that no published one has; CLIP and the autoencoder are those of other checkpoints."""

from diffusers import ChromaTransformer2DModel, FluxTransformer2DModel
from transformers import T5EncoderModel

from image_part import Checkpoint, Part, index

VOCABULARY = 240
FLOW = dict(
    num_train_timesteps=1000, shift=3.0, use_dynamic_shifting=True, base_shift=0.5, max_shift=1.15, base_image_seq_len=16,
    max_image_seq_len=64,
)  # fmt: skip


def transformer(seed, **config):
    sizes = dict(
        patch_size=1, in_channels=64, num_layers=2, num_single_layers=2, attention_head_dim=20, num_attention_heads=3,
        joint_attention_dim=48, pooled_projection_dim=64, guidance_embeds=True, axes_dims_rope=[4, 6, 10],
    )  # fmt: skip
    return Part('model', FluxTransformer2DModel, sizes | config, seed, 'bf16')


def t5(seed, **config):
    sizes = dict(
        vocab_size=VOCABULARY, d_model=48, d_kv=12, d_ff=80, num_layers=3, num_heads=5, relative_attention_num_buckets=12,
        relative_attention_max_distance=20, feed_forward_proj='gated-gelu', dense_act_fn='gelu_new', is_gated_act=True,
        is_encoder_decoder=True, tie_word_embeddings=False,
    )  # fmt: skip
    return Part('model', T5EncoderModel, sizes | config, seed, 'bf16', {'shared': 3.0, 'relative_attention_bias': 4.0})


def chroma(seed):
    sizes = dict(
        patch_size=1, in_channels=64, num_layers=2, num_single_layers=3, attention_head_dim=20, num_attention_heads=3,
        joint_attention_dim=48, axes_dims_rope=[4, 6, 10], approximator_num_channels=32, approximator_hidden_dim=36, approximator_layers=2,
    )  # fmt: skip
    return Part('model', ChromaTransformer2DModel, sizes, seed, 'bf16')


CHROMA_INDEX = index(
    'ChromaPipeline',
    scheduler=('diffusers', 'FlowMatchEulerDiscreteScheduler'),
    text_encoder=('transformers', 'T5EncoderModel'),
    tokenizer=('transformers', 'T5TokenizerFast'),
    transformer=('diffusers', 'ChromaTransformer2DModel'),
    vae=('diffusers', 'AutoencoderKL'),
    image_encoder=None,
    feature_extractor=None,
)
PARTS = dict(
    scheduler=('diffusers', 'FlowMatchEulerDiscreteScheduler'),
    text_encoder=('transformers', 'CLIPTextModel'),
    text_encoder_2=('transformers', 'T5EncoderModel'),
    tokenizer=('transformers', 'CLIPTokenizer'),
    tokenizer_2=('transformers', 'T5TokenizerFast'),
    transformer=('diffusers', 'FluxTransformer2DModel'),
    vae=('diffusers', 'AutoencoderKL'),
)
INDEX = index('FluxPipeline', **PARTS, image_encoder=None, feature_extractor=None)
KONTEXT_INDEX = index('FluxKontextPipeline', **PARTS, image_encoder=None, feature_extractor=None)
FLUX = {
    'chroma': Checkpoint(
        {
            'transformer': chroma(94),
            'scheduler': Part('scheduler', 'FlowMatchEulerDiscreteScheduler', dict(num_train_timesteps=1000, shift=1.0, use_beta_sigmas=True)),
        },
        CHROMA_INDEX,
    ),
    'flux': Checkpoint(
        {
            'tokenizer_2': Part('t5 tokenizer'),
            'text_encoder_2': t5(91),
            'transformer': transformer(92),
            'scheduler': Part('scheduler', 'FlowMatchEulerDiscreteScheduler', FLOW),
        },
        INDEX,
    ),
    'flux-kontext': Checkpoint({'': Part('file', config={'svc.json': {'width': 64, 'height': 64}})}, KONTEXT_INDEX),
    'flux-fill': Checkpoint(
        {'transformer': transformer(94, in_channels=192, out_channels=64, num_layers=1, num_single_layers=1)},
        index('FluxFillPipeline', **PARTS),
    ),
    'flux-control': Checkpoint(
        {'transformer': transformer(95, in_channels=128, out_channels=64, num_layers=1, num_single_layers=1)},
        index('FluxControlPipeline', **PARTS),
    ),
    'flux-schnell': Checkpoint(
        {
            'transformer': transformer(93, guidance_embeds=False, num_layers=1, num_single_layers=3),
            'scheduler': Part('scheduler', 'FlowMatchEulerDiscreteScheduler', FLOW | dict(use_dynamic_shifting=False, shift=1.0)),
        },
    ),
}
