"""Pipeline cases of Sana."""

from image_pipeline_case import Pipeline, call, single


def sana_call(prompt=0, guidance=4.5, **more):
    sizes = dict(height=64, width=96) | {key: more.pop(key) for key in ('height', 'width') if key in more}
    return call(prompt, guidance=guidance, steps=3, **sizes, **({'use_resolution_binning': False} | more))


SANA = {
    'pipeline-sana': Pipeline(
        'SanaPipeline',
        'sana',
        'guidance: two texts of different lengths, one behind the instruction, in one pass; a solver of second order with flow sigmas',
        sana_call(9),
        seeds=(81, 82),
    ),
    'pipeline-sana-unguided': single(
        'SanaPipeline',
        'sana',
        'guidance 1: one text, of which the last tokens are cut off, behind an instruction of two lines; Euler with the same shift',
        sana_call(15, guidance=1.0, negative=None, max_sequence_length=14, complex_human_instruction=['Enhance:', 'User Prompt: ']),
        83,
        scheduler='FlowMatchEulerDiscreteScheduler',
        settings={'shift': 3.0},
    ),
    'pipeline-sana-placed': single(
        'SanaPipeline',
        'sana',
        'positions; the prompt alone; a factor on the time step',
        sana_call(8, complex_human_instruction=[], height=96, width=64),
        84,
        components={'transformer': 'sana-placed/transformer'},
    ),
    'pipeline-sana-patched': single(
        'SanaPipeline',
        'sana',
        'tokens of 2 × 2 latents, so that sides are multiples of 64 pixels; heads of 10 dimensions before the text',
        sana_call(8, complex_human_instruction=[], height=128, width=64),
        86,
        components={'transformer': 'sana-patched/transformer'},
    ),
}
