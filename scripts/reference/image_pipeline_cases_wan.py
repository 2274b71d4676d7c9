"""Pipeline cases of Wan."""

from image_pipeline_case import call, single


def clip(prompt=0, frames=5, height=32, width=48, guidance=5.0, steps=3, **more):
    return call(prompt, guidance=guidance, steps=steps, height=height, width=width, num_frames=frames, **more)


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
}
