"""Pipeline cases of Lumina 2."""

from image_pipeline_case import call, single

LUMINA2 = {
    'pipeline-lumina2': single(
        'Lumina2Pipeline',
        'lumina2',
        'guidance: the prompt behind the usual system prompt and the negative prompt without it; each row of a channel keeps its length',
        call(0, guidance=4.0, steps=3, height=48, width=80),
        91,
    ),
    'pipeline-lumina2-truncated': single(
        'Lumina2Pipeline',
        'lumina2',
        'guidance in the first half of the steps, whose result has any length; a prompt that is cut; μ from the number of channels',
        call(
            15, guidance=3.0, steps=4, height=32, width=48, system_prompt='Draw:', cfg_normalization=False, cfg_trunc_ratio=0.5,
            max_sequence_length=24,
        ),
        92,
        scheduler='FlowMatchEulerDiscreteScheduler',
        settings={'use_dynamic_shifting': True, 'max_shift': 4.0},
    ),
}  # fmt: skip
