"""The tiny checkpoints of HunyuanVideo 1.5: heads of 20 dimensions, of which frames rotate four; four pixels and two frames to a latent."""

from diffusers import AutoencoderKLHunyuanVideo15, HunyuanVideo15Transformer3DModel
from transformers import Qwen2_5_VLTextModel, SiglipVisionModel, T5EncoderModel

from image_configs_qwen import VOCABULARY
from image_part import Checkpoint, Part, index

SIZES = dict(
    in_channels=9, out_channels=4, num_attention_heads=3, attention_head_dim=20, num_layers=2, num_refiner_layers=2, text_embed_dim=48,
    text_embed_2_dim=28, image_embed_dim=16, rope_axes_dim=[4, 8, 8], target_size=32, task_type='t2v',
)  # fmt: skip
VAE = dict(
    latent_channels=4, block_out_channels=[12, 24, 24], layers_per_block=1, spatial_compression_ratio=4, temporal_compression_ratio=2,
    scaling_factor=0.8,
)  # fmt: skip
TEXT = dict(
    vocab_size=VOCABULARY, hidden_size=48, intermediate_size=80, num_hidden_layers=4, num_attention_heads=2, num_key_value_heads=1,
    rms_norm_eps=1e-6, max_position_embeddings=2048, model_type='qwen2_5_vl_text', tie_word_embeddings=False,
    rope_parameters={'rope_type': 'default', 'rope_theta': 1e6, 'mrope_section': [3, 4, 5]},
)  # fmt: skip
BYTES = dict(
    vocab_size=384, d_model=28, d_kv=8, d_ff=44, num_layers=2, num_heads=3, relative_attention_num_buckets=12, relative_attention_max_distance=20,
    feed_forward_proj='gated-gelu', dense_act_fn='gelu_new', is_gated_act=True, is_encoder_decoder=True, tie_word_embeddings=False,
)  # fmt: skip
IMAGES = dict(
    hidden_size=16, intermediate_size=28, num_hidden_layers=2, num_attention_heads=2, image_size=32, patch_size=10, hidden_act='gelu_pytorch_tanh',
)  # fmt: skip
PROCESSOR = {
    'preprocessor_config.json': dict(
        image_processor_type='SiglipImageProcessor', do_resize=True, size={'height': 32, 'width': 32}, resample=3, do_rescale=True,
        rescale_factor=1 / 255, do_normalize=True, image_mean=[0.5] * 3, image_std=[0.5] * 3, do_convert_rgb=True,
    )
}  # fmt: skip
BYTE_TOKENIZER = {'tokenizer_config.json': dict(tokenizer_class='ByT5Tokenizer', eos_token='</s>', pad_token='<pad>', unk_token='<unk>', extra_ids=125)}
GUIDER = dict(guidance_scale=3.0, guidance_rescale=0.0, use_original_formulation=False, start=0.0, stop=1.0, enabled=True)


def guider(**settings):
    """The default scale of guidance, which the calls of the pipelines do not take."""
    config = {'_class_name': 'ClassifierFreeGuidance', '_diffusers_version': '0.42.1'} | GUIDER | settings
    return Part('file', config={'guider_config.json': config})


def pipeline(name, **more):
    return index(
        name,
        text_encoder=('transformers', 'Qwen2_5_VLTextModel'),
        tokenizer=('transformers', 'Qwen2Tokenizer'),
        text_encoder_2=('transformers', 'T5EncoderModel'),
        tokenizer_2=('transformers', 'ByT5Tokenizer'),
        transformer=('diffusers', 'HunyuanVideo15Transformer3DModel'),
        vae=('diffusers', 'AutoencoderKLHunyuanVideo15'),
        scheduler=('diffusers', 'FlowMatchEulerDiscreteScheduler'),
        guider=('diffusers', 'ClassifierFreeGuidance'),
        **more,
    )


HUNYUAN = {
    'hunyuan': Checkpoint(
        {
            'tokenizer_2': Part('file', config=BYTE_TOKENIZER),
            'text_encoder': Part('model', Qwen2_5_VLTextModel, TEXT, 373, 'bf16'),
            'text_encoder_2': Part('model', T5EncoderModel, BYTES, 374, 'bf16', {'shared': 3.0, 'relative_attention_bias': 4.0}),
            'transformer': Part('model', HunyuanVideo15Transformer3DModel, SIZES, 360, 'bf16'),
            'vae': Part('model', AutoencoderKLHunyuanVideo15, VAE, 370, 'f16', {'decoder.conv_out.conv': 0.5}),
            'scheduler': Part('scheduler', 'FlowMatchEulerDiscreteScheduler', dict(num_train_timesteps=1000, shift=5.0)),
            'guider': guider(),
        },
        pipeline('HunyuanVideo15Pipeline'),
    ),
    # An image in further channels, and as states of SigLIP, which does not see its last pixels; each step is told the next one's time.
    'hunyuan-image': Checkpoint(
        {
            'image_encoder': Part('model', SiglipVisionModel, IMAGES, 375, 'bf16'),
            'transformer': Part('model', HunyuanVideo15Transformer3DModel, SIZES | dict(task_type='i2v', use_meanflow=True), 378, 'bf16'),
            'feature_extractor': Part('file', config=PROCESSOR),
            'guider': guider(guidance_scale=1.0),
        },
        pipeline(
            'HunyuanVideo15ImageToVideoPipeline',
            image_encoder=('transformers', 'SiglipVisionModel'),
            feature_extractor=('transformers', 'SiglipImageProcessor'),
        ),
    ),
}
