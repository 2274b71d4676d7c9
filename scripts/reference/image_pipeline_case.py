"""What a pipeline case of test/golden/image is: which checkpoint, what is asked of it, and what it is for."""

from dataclasses import dataclass, field

from image_tokenizer import PROMPTS

NEGATIVE = PROMPTS[6]


@dataclass
class Pipeline:
    model: str  # class in diffusers
    checkpoint: str
    exercises: str
    arguments: dict  # of the pipeline call
    seeds: tuple[int, ...] = (0,)  # one a picture
    scheduler: str = ''  # class that replaces the checkpoint's, with the checkpoint's configuration
    settings: dict = field(default_factory=dict)  # settings of the scheduler that replaces the checkpoint's
    components: dict[str, str] = field(default_factory=dict)  # replaced by those of another checkpoint
    picture: bool = False
    sides: tuple[int, ...] = ()  # height and width of the picture where they are not 40 and 56
    size: tuple[int, ...] = ()  # height and width of the result where neither arguments nor the picture say them
    further: int = 0  # pictures before it
    last: bool = False  # another picture, of the last frame
    mask: bool = False
    controls: int = 0  # pictures for ControlNets
    noise: str = 'cpu'  # the generator whose stream the first latents are: cpu, or cuda
    emphasis: dict[str, list] = field(default_factory=dict)  # what the texts mean, by image_emphasis.py
    words: tuple[str, ...] = ()  # files of checkpoints/words with embeddings that stand for words
    image_prompt: str = ''  # adapter of checkpoints/ip-adapters, which sees a picture
    image_scale: float = 1.0  # of what that picture adds


def call(prompt=0, negative=NEGATIVE, steps=2, guidance=7.5, height=40, width=56, **more):
    wanted = {'prompt': PROMPTS[prompt], 'num_inference_steps': steps, 'guidance_scale': guidance, **more}
    if negative is not None:
        wanted['negative_prompt'] = negative
    return wanted | ({'height': height, 'width': width} if height else {})


def single(model, checkpoint, exercises, arguments, seed, **more):
    return Pipeline(model, checkpoint, exercises, arguments, seeds=(seed,), **more)
