"""Pipeline cases of Wan."""

from image_pipeline_case import NEGATIVE, call, single


def clip(prompt=0, negative=NEGATIVE, frames=5, height=32, width=48, guidance=5.0, steps=3, **more):
    return call(prompt, negative, guidance=guidance, steps=steps, height=height, width=width, num_frames=frames, **more)


SHARED = {name: f'wan/{name}' for name in ('tokenizer', 'text_encoder', 'vae', 'scheduler')}
WAN = {
    'pipeline-wan': single(
        'WanPipeline', 'wan', 'guidance: five frames of three frames of latents; zeros behind texts; three steps of UniPC by flow sigmas', clip(), 301
    ),
    'pipeline-wan-experts': single(
        'WanPipeline',
        'wan-experts',
        'two transformers: the second computes the last step, with guidance of its own; a prompt that is cut',
        clip(15, frames=3, guidance=4.0, guidance_scale_2=2.0, max_sequence_length=24),
        302,
        components=SHARED | {'transformer': 'wan/transformer'},
    ),
    'pipeline-wan-image': single(
        'WanImageToVideoPipeline',
        'wan-image',
        'images of the first and last frame: in further channels, and as states of CLIP with positions',
        clip(3, guidance=3.0),
        303,
        components=SHARED,
        picture=True,
        last=True,
    ),
    'pipeline-wan-image-plain': single(
        'WanImageToVideoPipeline',
        'wan-image-plain',
        'the image of the first frame in further channels alone, without guidance',
        clip(4, None, guidance=1.0, width=32),
        304,
        components=SHARED,
        picture=True,
    ),
    'pipeline-wan-frames': single(
        'WanImageToVideoPipeline',
        'wan-frames',
        'the image takes the place of the first frame, whose tokens have the time 0',
        clip(5, guidance=2.0),
        305,
        components=SHARED | {'transformer': 'wan/transformer'},
        picture=True,
    ),
    'pipeline-wan-residual': single(
        'WanPipeline',
        'wan-residual',
        'the autoencoder of Wan 2.2, of which a latent is sixteen pixels wide, and a time for each frame of latents',
        clip(6, frames=5, guidance=2.0, width=64),
        306,
        components=SHARED | {'vae': 'autoencoder-wan-residual'},
    ),
}
