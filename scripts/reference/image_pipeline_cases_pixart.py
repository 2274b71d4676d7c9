"""Pipeline cases of PixArt."""

from image_pipeline_case import Pipeline, call, single


def pixart_call(prompt=0, guidance=4.5, **more):
    sizes = dict(height=48, width=80) | {key: more.pop(key) for key in ('height', 'width') if key in more}
    return call(prompt, guidance=guidance, steps=3, **sizes, **({'use_resolution_binning': False} | more))


PIXART = {
    'pipeline-pixart': Pipeline(
        'PixArtSigmaPipeline',
        'pixart',
        'guidance: two texts of different lengths in one pass; half of the channels are a variance; two images',
        pixart_call(9),
        seeds=(91, 92),
    ),
    'pipeline-pixart-unguided': single(
        'PixArtSigmaPipeline',
        'pixart',
        'guidance 1: one text, cut off after 9 tokens; another schedule',
        pixart_call(15, guidance=1.0, negative=None, max_sequence_length=9),
        93,
        scheduler='EulerDiscreteScheduler',
    ),
    'pipeline-pixart-binned': single(
        'PixArtSigmaPipeline',
        'pixart',
        'drawn in the nearest size of training, 192 × 320, then scaled and cut',
        pixart_call(8, guidance=1.0, negative=None, use_resolution_binning=True),
        95,
        components={'transformer': 'pixart-binned/transformer'},
    ),
    'pipeline-pixart-alpha': single(
        'PixArtAlphaPipeline',
        'pixart-alpha',
        'the size of the image as an input; capitals and spaces around the prompt',
        pixart_call(8, height=80, width=48),
        94,
    ),
}
