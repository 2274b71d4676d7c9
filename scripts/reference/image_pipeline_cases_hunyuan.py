"""Pipeline cases of HunyuanVideo 1.5, whose calls take no scale of guidance."""

from image_pipeline_case import single
from image_tokenizer import PROMPTS


def clip(prompt, frames=5, steps=3, **more):
    return {'prompt': prompt, 'num_inference_steps': steps, 'num_frames': frames, **more}


TOKENIZER = {'tokenizer': 'qwen-image/tokenizer'}
SHARED = TOKENIZER | {name: f'hunyuan/{name}' for name in ('tokenizer_2', 'text_encoder', 'text_encoder_2', 'vae', 'scheduler')}
HUNYUAN = {
    'pipeline-hunyuan': single(
        'HunyuanVideo15Pipeline',
        'hunyuan',
        'guidance by a guider; texts that are to be seen, one of them twice; a size by target_size; five frames of three frames of latents',
        clip('a sign with "OPEN" and “café”, above it "OPEN" once more', negative_prompt=PROMPTS[6]),
        321,
        components=TOKENIZER,
    ),
    'pipeline-hunyuan-image': single(
        'HunyuanVideo15ImageToVideoPipeline',
        'hunyuan-image',
        'the image of the first frame, whose middle is taken: in further channels, and as states of SigLIP; the time that a step leads to; without guidance',
        clip(PROMPTS[4], frames=3),
        322,
        components=SHARED,
        picture=True,
    ),
}
