"""The tiny checkpoints of LTX-Video: four frames to a frame of latents after the first, 16 pixels to a latent; columns of all heads that are no multiple of 6."""

from diffusers import LTXVideoTransformer3DModel

from image_part import Checkpoint, Part, index

SCHEDULE = dict(
    num_train_timesteps=1000, shift=1.0, use_dynamic_shifting=True, base_shift=0.95, max_shift=2.05, base_image_seq_len=1024,
    max_image_seq_len=4096, shift_terminal=0.1, invert_sigmas=False,
)  # fmt: skip


def transformer(seed, **config):
    sizes = dict(in_channels=6, out_channels=6, num_attention_heads=3, attention_head_dim=20, cross_attention_dim=60, num_layers=2, caption_channels=48)
    return Part('model', LTXVideoTransformer3DModel, sizes | config, seed, 'bf16')


def pipeline(name):
    return index(
        name,
        tokenizer=('transformers', 'T5TokenizerFast'),
        text_encoder=('transformers', 'T5EncoderModel'),
        transformer=('diffusers', 'LTXVideoTransformer3DModel'),
        vae=('diffusers', 'AutoencoderKLLTXVideo'),
        scheduler=('diffusers', 'FlowMatchEulerDiscreteScheduler'),
    )


LTX = {
    'ltx': Checkpoint(
        {
            'tokenizer': Part('copy', source='flux/tokenizer_2'),
            'text_encoder': Part('copy', source='flux/text_encoder_2'),
            'transformer': transformer(161),
            'vae': Part('copy', source='autoencoder-ltx'),
            'scheduler': Part('scheduler', 'FlowMatchEulerDiscreteScheduler', SCHEDULE),
        },
        pipeline('LTXPipeline'),
    ),
    # No biases in attention, and a decoder that removes the last noise.
    'ltx-plain': Checkpoint(
        {
            'transformer': transformer(
                162, num_attention_heads=2, cross_attention_dim=40, attention_bias=False, attention_out_bias=False
            ),
        },
        pipeline('LTXImageToVideoPipeline'),
    ),
}
