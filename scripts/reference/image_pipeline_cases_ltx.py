"""Pipeline cases of LTX-Video."""

from image_pipeline_case import NEGATIVE, call, single


def clip(prompt=0, negative=NEGATIVE, frames=9, height=64, width=96, guidance=3.0, steps=3, **more):
    return call(prompt, negative, guidance=guidance, steps=steps, height=height, width=width, num_frames=frames, **more)


SHARED = {name: f'ltx/{name}' for name in ('tokenizer', 'text_encoder', 'scheduler')}
TIMED = {'transformer': 'ltx-plain/transformer', 'vae': 'autoencoder-ltx-timed'}
LTX = {
    'pipeline-ltx': single(
        'LTXPipeline',
        'ltx',
        'guidance whose result is rescaled; nine frames of three frames of latents, twelve in a second; texts of which the padding is not seen',
        clip(frame_rate=12, guidance_rescale=0.7),
        321,
    ),
    'pipeline-ltx-timed': single(
        'LTXPipeline',
        'ltx',
        'a decoder that removes the last noise, which is drawn behind that of the latents; a prompt that is cut, without guidance',
        clip(15, None, guidance=1.0, max_sequence_length=9, decode_timestep=0.05, decode_noise_scale=0.25),
        322,
        components=TIMED,
    ),
    'pipeline-ltx-image': single(
        'LTXImageToVideoPipeline',
        'ltx-plain',
        'the image is the first frame, a sample of its latents, whose tokens have the time 0',
        clip(5, guidance=2.0, frames=5, decode_timestep=0.1),
        323,
        components=SHARED | TIMED,
        picture=True,
    ),
    'pipeline-ltx-conditions': single(
        'LTXConditionPipeline',
        'ltx',
        'the image is the first frame, drawn behind the noise, and gets fresh noise in each step; a line and a parabola of sigmas',
        clip(5, guidance=2.0, frames=5, decode_timestep=0.05),
        324,
        scheduler='FlowMatchEulerDiscreteScheduler',
        settings={'use_dynamic_shifting': False, 'shift_terminal': None},
        components={'vae': 'autoencoder-ltx-timed'},
        picture=True,
    ),
}
