"""Images and conversations of media.py."""

import torch

# Widths and heights that are no multiples of a patch.
SIZES = [(50, 38), (23, 61), (77, 29)]


def picture(seed, width, height):
    """Smooth random colours, [height, width, 3]."""
    noise = torch.rand(1, 3, 4, 5, generator=torch.Generator().manual_seed(seed))
    smooth = torch.nn.functional.interpolate(noise, (height, width), mode='bicubic')
    return (smooth[0].permute(1, 2, 0).clamp(0, 1) * 255).round().to(torch.uint8)


CASES = [
    dict(name='one', images=[0], messages=[dict(role='user', content=['image', 'What is this?'])]),
    dict(name='other', images=[1], messages=[dict(role='user', content=['image', 'What is this?'])]),
    dict(
        name='several',
        images=[2, 0],
        messages=[dict(role='system', content='Short.'), dict(role='user', content=['Compare ', 'image', ' with ', 'image', '.'])],
    ),
    dict(
        name='turns',
        images=[0, 1],
        messages=[
            dict(role='user', content=['image', 'What is this?']),
            dict(role='assistant', content='A sea.'),
            dict(role='user', content=['And this? ', 'image']),
        ],
    ),
    dict(name='text', images=[], messages=[dict(role='user', content='Hello there, how are you?')]),
]
