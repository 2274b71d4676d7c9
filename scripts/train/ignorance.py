"""Questions beyond the closed world, and ways to say so."""

import random

import world as w
from phrases import expand
from smalltalk import CAN, WORLD

UNKNOWN = [
    "[Sorry, |]I do not know [that|this|the answer to that]. " + CAN + ".",
    "I do not know. I am a tiny model. " + CAN + ".",
    "[That is|This is] beyond me, I do not know. You can ask me about {world}.",
    "I do not know [that|this one]. I only know a small world: {world}.",
    "Sorry, I do not know. I am too small for that. Ask me about {world}.",
    "I do not know [anything about that|much about that]. [Ask me about|But I know] {world}.",
    "I am sorry, I do not know that. I am only a tiny model. Ask me about {world}.",
    "I do not know that one. " + CAN + ".",
]
TOPICS = """quantum physics|photosynthesis|the stock market|gravity|black holes|democracy|inflation|evolution|DNA|electricity|the internet
|blockchain|bitcoin|machine learning|neural networks|philosophy|the French revolution|world war two|the Roman empire|ancient Egypt|the moon landing
|the cold war|chemistry|algebra|calculus|geometry|the brain|the heart|cancer|vaccines|viruses|antibiotics|global warming|climate change|volcanoes
|earthquakes|hurricanes|dinosaurs|mammoths|atoms|electrons|magnets|nuclear power|solar panels|batteries|engines|rockets|satellites|telescopes
|opera|jazz|baroque music|impressionism|cubism|Shakespeare|Einstein|Newton|Napoleon|Caesar|Cleopatra|Mozart|Beethoven|Picasso|Gandhi|Lincoln|Tesla
|the olympics|basketball rules|the world cup|tax law|contracts|insurance|mortgages|the constitution|human rights|Buddhism|Christianity|Islam|yoga
|meditation|keto diets|protein|vitamins|wine|whisky|espresso|python programming|javascript|linux|docker|databases|compilers|encryption|http|regex
|robots|self driving cars|drones|5g|virtual reality|string theory|relativity|thermodynamics|entropy|plate tectonics|the ice age|the renaissance
|Harry Potter|Star Wars|Hamlet|Game of Thrones|the Beatles|Taylor Swift|Elvis|Messi|Ronaldo|Madonna|the pope|the president|the king|elections|NATO|the UN|the EU"""
TOPIC_LIST = [t.strip() for t in TOPICS.replace("\n", "").split("|")]
DEEDS = """invented the telephone|discovered America|painted the Mona Lisa|wrote Hamlet|wrote Harry Potter|won the world cup|won the election|won the game last night
|built the pyramids|composed the magic flute|walked on the moon|founded Google|founded Microsoft|directed Titanic|sang Thriller|killed Caesar
|invented the light bulb|discovered penicillin|is the president|is the richest man|is the king of England|is the best singer|is the prime minister
|plays Batman|is the mayor|runs Apple|invented paper|discovered radium|wrote the Odyssey|designed this bridge|is on TV tonight|scored the last goal""".replace(
    "\n", ""
).split("|")
THINGS = """the population of Paris|the height of Mount Everest|the speed of light|the distance to the moon|the price of gold|the square root of 144|the boiling point of iron
|the weather today|the weather tomorrow|the time now|the date today|the news today|my password|my phone number|the wifi password|the exchange rate|the GDP of Japan
|the chemical symbol of gold|the largest ocean|the longest river|the tallest building|the deepest lake|the biggest country|the fastest car|the oldest city|the currency of Japan
|the best phone|the best restaurant in town|the formula of water|the age of the universe|the mass of the earth|the melting point of ice|the national anthem|the flag of Kenya
|the winner of the race|the latest iphone|a good movie|the plot of Titanic|the lyrics of this song|the meaning of this dream|the cube of 17|the value of pi|the atomic number of iron
|the area of a circle|the life span of a tortoise|the train to work|the traffic|the score of the match|the recipe for lasagna|tomorrow's lottery numbers|the salary of a pilot""".replace(
    "\n", ""
).split("|")
TASKS = """fix my car|write python code|write an essay about history|solve this equation|debug my program|write a letter to my boss|plan my holiday|book a flight|order a pizza
|translate this text|do my homework|summarize this article|write a sql query|make a website|explain this contract|diagnose my headache|choose a laptop|cook lasagna|bake a wedding cake
|invest my money|lose weight|repair a bike|change a tire|install linux|train a neural network|build a house|play the stock market|file my taxes|learn to drive|hack a computer
|multiply 12 and 13|divide 100 by 7|compute 345 times 12|find the derivative of x squared|prove this theorem|write a novel|make a bomb|get a visa|open a bank account|fly a plane""".replace(
    "\n", ""
).split("|")
VERBS = (
    "born|die|founded|invented|built|elected|discovered|released|start|end|married|published|crowned|destroyed".split(
        "|"
    )
)
QUALITIES = "tall old big far heavy fast deep rich popular expensive hot long wide strong".split()
WORDS = """engine protocol theorem molecule treaty senate novel symphony reactor galaxy enzyme currency tariff kernel parliament vaccine warranty mortgage
processor sculpture dynasty empire opera orchestra bacteria comet asteroid neuron laser transistor pension statute poet emperor general senator
actor singer band movie album series league club company startup festival museum monument canal dam bridge tower stadium airport university""".split()


def subject(rng: random.Random) -> str:
    return rng.choice([
        lambda: rng.choice(TOPIC_LIST), lambda: rng.choice(TOPIC_LIST), lambda: w.made_up(rng).capitalize(),
        lambda: w.made_up(rng).capitalize() + " " + w.made_up(rng).capitalize(),
        lambda: f"the {rng.choice(WORDS)} of {w.made_up(rng).capitalize()}", lambda: f"a {w.made_up(rng)}", lambda: f"the {rng.choice(WORDS)}",
        lambda: f"the {w.made_up(rng).capitalize()} {rng.choice(WORDS)}",
    ])()  # fmt: skip


QUESTIONS = [
    lambda r: expand(r, "[what is|what are|explain|tell me about|describe|define|what do you know about|can you explain|what's|give me a summary of|why is there|how does it work:] ") + " " + subject(r) + r.choice(["?", "", " to me"]),
    lambda r: "who " + r.choice(DEEDS) + "?",
    lambda r: "who is " + subject(r) + "?",
    lambda r: expand(r, "[what is|tell me|what's|do you know|give me|I need|look up] ") + " " + r.choice(THINGS) + "?",
    lambda r: expand(r, "[how do I|how can I|can you|please|help me|how to|I want you to|could you|show me how to|teach me to] ") + " " + r.choice(TASKS) + r.choice(["?", ""]),
    lambda r: f"when was {subject(r)} {r.choice(VERBS)}?",
    lambda r: f"{r.choice(['what', 'in what', 'which'])} year was {subject(r)} {r.choice(VERBS)}?",
    lambda r: f"how {r.choice(QUALITIES)} is {subject(r)}?",
    lambda r: expand(r, f"[what is the capital of|capital of|where is|what language do people speak in|which continent is] {w.made_up(r).capitalize()}?"),
    lambda r: expand(r, f"[what is the opposite of {w.made_up(r)}|what colour is {subject(r)}|what sound does a {w.made_up(r)} make|where does a {w.made_up(r)} live|what does a {w.made_up(r)} eat|how many legs does a {w.made_up(r)} have|what is a {w.made_up(r)}]?"),
    lambda r: f"how many {r.choice(WORDS)}s are there in {r.choice(list(w.CAPITALS))}?",
    lambda r: f"what is the {r.choice('population currency flag anthem president king history area gdp religion army airport'.split())} of {r.choice(list(w.CAPITALS))}?",
    lambda r: f"what is {r.randint(12, 99)} {r.choice(['times', '*', 'divided by', '/', 'x'])} {r.randint(3, 99)}?",
    lambda r: f"what is {r.randint(100, 9999)} {r.choice(['plus', '+', 'minus', '-'])} {r.randint(100, 9999)}?",
    lambda r: expand(r, f"[who|what|where|when|why|how] {r.choice(['is', 'was', 'are', 'did', 'can', 'does'])} {r.choice(['the', 'a', 'my', 'your', 'our', 'this', 'that'])} {r.choice('best first last new old next real good main other'.split())} {r.choice(WORDS)}?"),
    lambda r: expand(r, f"[recommend|suggest|find|get|buy|name] me [a|some|the best] {r.choice(WORDS)}[s|]"),
    lambda r: f"why {r.choice(['is', 'does', 'did', 'do', 'are', 'was', 'should'])} {subject(r)} {r.choice('work happen fall grow change move exist stop matter burn fail collapse rise important dangerous popular'.split())}?",
    lambda r: f"how does {subject(r)} {r.choice('work compare help grow affect us change the world make money'.split())}?",
    lambda r: f"what happened {r.choice([f'in {r.randint(1000, 2030)}', f'to {subject(r)}'])}?",
    lambda r: f"{r.choice(['which', 'what'])} {r.choice(WORDS)} is the {r.choice('best worst largest oldest cheapest fastest newest most famous'.split())}?",
    lambda r: f"is {subject(r)} {r.choice('true real good bad dangerous legal healthy better cheap'.split())}?",
    lambda r: f"compare {subject(r)} and {subject(r)}",
    lambda r: " ".join(w.made_up(r) for _ in range(r.randint(1, 5))),
]  # fmt: skip
HELD_OUT = [
    lambda r: f"give me the details of {subject(r)}",
    lambda r: f"{r.choice(DEEDS).capitalize()}: who was it?",
    lambda r: f"I wonder what {subject(r)} really is",
]


def question(rng: random.Random, held_out: bool) -> str:
    return rng.choice(HELD_OUT if held_out else QUESTIONS)(rng)


def answer(rng: random.Random) -> str:
    return expand(rng, rng.choice(UNKNOWN), world=rng.choice(WORLD))
