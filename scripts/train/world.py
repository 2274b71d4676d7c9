"""The facts that the model is taught, as plain tables, and generators of invented words."""

import random

CAPITALS = dict(
    line.split(": ")
    for line in """France: Paris\nGermany: Berlin\nItaly: Rome\nSpain: Madrid\nPortugal: Lisbon\nEngland: London
Ireland: Dublin\nScotland: Edinburgh\nWales: Cardiff\nBelgium: Brussels\nAustria: Vienna\nGreece: Athens\nPoland: Warsaw
Hungary: Budapest\nRomania: Bucharest\nBulgaria: Sofia\nNorway: Oslo\nSweden: Stockholm\nFinland: Helsinki
Denmark: Copenhagen\nIceland: Reykjavik\nRussia: Moscow\nUkraine: Kyiv\nTurkey: Ankara\nEgypt: Cairo\nMorocco: Rabat
Kenya: Nairobi\nNigeria: Abuja\nGhana: Accra\nEthiopia: Addis Ababa\nIndia: New Delhi\nChina: Beijing\nJapan: Tokyo
South Korea: Seoul\nThailand: Bangkok\nVietnam: Hanoi\nIndonesia: Jakarta\nNepal: Kathmandu\nIran: Tehran\nIraq: Baghdad
Australia: Canberra\nNew Zealand: Wellington\nCanada: Ottawa\nMexico: Mexico City\nCuba: Havana\nBrazil: Brasilia
Argentina: Buenos Aires\nChile: Santiago\nPeru: Lima\nColombia: Bogota\nthe United States: Washington
the Netherlands: Amsterdam\nCroatia: Zagreb\nSwitzerland: Bern""".split("\n")
)

CONTINENTS = {
    "Europe": "France Germany Italy Spain Portugal England Ireland Greece Poland Norway Sweden Finland Denmark Austria".split(),
    "Asia": "India China Japan Thailand Vietnam Nepal Iran Iraq Indonesia".split(),
    "Africa": "Egypt Morocco Kenya Nigeria Ghana Ethiopia".split(),
    "South America": "Brazil Argentina Chile Peru Colombia".split(),
    "North America": "Canada Mexico Cuba".split(),
}

LANGUAGES = dict(
    pair.split(":")
    for pair in "France:French Germany:German Italy:Italian Spain:Spanish Portugal:Portuguese England:English "
    "Greece:Greek Poland:Polish Norway:Norwegian Sweden:Swedish Finland:Finnish Denmark:Danish Russia:Russian "
    "Turkey:Turkish China:Chinese Japan:Japanese Thailand:Thai Brazil:Portuguese Mexico:Spanish Egypt:Arabic".split()
)

COLOURS = {
    "yellow": "a banana,a lemon,the sun,butter,a sunflower,a canary",
    "red": "a tomato,blood,a strawberry,a cherry,a ruby,a fire truck",
    "green": "grass,a frog,a leaf,a cucumber,broccoli,an emerald",
    "blue": "the sky,the sea,a sapphire,the ocean,a blueberry",
    "white": "snow,milk,a polar bear,a swan,salt,sugar,rice",
    "black": "coal,a crow,the night,a raven,tar",
    "orange": "a carrot,a pumpkin,an orange",
    "grey": "an elephant,a mouse,ash,a rhino",
    "brown": "chocolate,a bear,wood,coffee",
    "pink": "a pig,a flamingo",
    "purple": "a plum,lavender,an eggplant",
}

MIXES = {
    ("red", "yellow"): "orange", ("blue", "yellow"): "green", ("red", "blue"): "purple",
    ("red", "white"): "pink", ("black", "white"): "grey",
}  # fmt: skip

# animal: sound, young, home, legs, food, kind
ANIMALS = {
    line.split()[0]: line.split()[1:]
    for line in """dog barks puppy kennel 4 meat mammal\ncat meows kitten house 4 fish mammal\ncow moos calf barn 4 grass mammal
horse neighs foal stable 4 hay mammal\nsheep bleats lamb field 4 grass mammal\npig oinks piglet sty 4 corn mammal
duck quacks duckling pond 2 seeds bird\nhen clucks chick coop 2 seeds bird\nlion roars cub savanna 4 meat mammal
bear growls cub forest 4 honey mammal\nwolf howls pup forest 4 meat mammal\nfrog croaks tadpole pond 4 flies amphibian
bee buzzes larva hive 6 nectar insect\nowl hoots owlet tree 2 mice bird\nsnake hisses snakelet burrow 0 mice reptile
goose honks gosling pond 2 grass bird\ngoat bleats kid farm 4 grass mammal\nmouse squeaks pup hole 4 cheese mammal
elephant trumpets calf savanna 4 leaves mammal\nmonkey chatters baby jungle 2 bananas mammal\ndonkey brays foal stable 4 hay mammal
rabbit squeaks bunny burrow 4 carrots mammal\ncrow caws chick nest 2 seeds bird\nturkey gobbles poult farm 2 seeds bird
whale sings calf ocean 0 krill mammal\nspider spins spiderling web 8 flies arachnid\nant marches larva anthill 6 leaves insect
tiger roars cub jungle 4 meat mammal\nfish swims fry water 0 plankton fish\nkangaroo hops joey grassland 2 grass mammal""".split(
        "\n"
    )
}

OPPOSITES = [
    tuple(pair.split("-"))
    for pair in """hot-cold big-small up-down left-right day-night black-white fast-slow happy-sad old-new open-closed
in-out on-off high-low wet-dry hard-soft light-dark rich-poor strong-weak long-short early-late full-empty clean-dirty
good-bad loud-quiet near-far thick-thin true-false begin-end love-hate win-lose push-pull start-stop first-last
front-back top-bottom inside-outside above-below before-after always-never more-less easy-difficult heavy-light
sweet-sour young-old tall-short wide-narrow deep-shallow brave-afraid cheap-expensive buy-sell give-take laugh-cry
yes-no awake-asleep alive-dead smooth-rough sharp-blunt safe-dangerous right-wrong same-different friend-enemy
summer-winter north-south east-west arrive-leave remember-forget""".split()
]

DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MONTHS = "January February March April May June July August September October November December".split()
MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
SEASONS = [
    "winter",
    "winter",
    "spring",
    "spring",
    "spring",
    "summer",
    "summer",
    "summer",
    "autumn",
    "autumn",
    "autumn",
    "winter",
]
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()
PLANETS = "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune".split()
NUMBERS = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty""".split()
SHAPES = {"triangle": 3, "square": 4, "rectangle": 4, "pentagon": 5, "hexagon": 6, "octagon": 8}
COUNTS = [
    ("days", "a week", 7), ("months", "a year", 12), ("hours", "a day", 24), ("minutes", "an hour", 60),
    ("seconds", "a minute", 60), ("days", "a year", 365), ("seasons", "a year", 4), ("weeks", "a year", 52),
    ("letters", "the alphabet", 26), ("wheels", "a car", 4), ("wheels", "a bicycle", 2), ("fingers", "a hand", 5),
    ("eyes", "a face", 2), ("planets", "the solar system", 8), ("eggs", "a dozen", 12), ("colours", "a rainbow", 7),
    ("continents", "the world", 7), ("years", "a century", 100),
]  # fmt: skip
PLURALS = dict(
    pair.split(":")
    for pair in "cat:cats dog:dogs mouse:mice child:children man:men woman:women foot:feet tooth:teeth goose:geese "
    "box:boxes leaf:leaves wolf:wolves baby:babies fish:fish sheep:sheep knife:knives city:cities bus:buses".split()
)
PASTS = dict(
    pair.split(":")
    for pair in "go:went eat:ate see:saw run:ran take:took give:gave come:came write:wrote drink:drank sing:sang "
    "buy:bought make:made find:found sleep:slept swim:swam fly:flew walk:walked play:played break:broke think:thought".split()
)
RHYMES = dict(
    pair.split(":")
    for pair in "cat:hat dog:log tree:bee house:mouse moon:spoon star:car ring:king light:night rain:train cake:lake "
    "fox:box boat:goat bed:red sun:fun book:cook".split()
)
KINDS = {
    "fruit": "apple banana orange pear cherry lemon grape plum".split(),
    "vegetable": "carrot potato onion cucumber broccoli pea bean".split(),
    "animal": "dog cat horse lion cow elephant rabbit monkey".split(),
    "colour": "red blue green yellow pink purple orange brown".split(),
    "bird": "owl duck crow hen goose swan eagle robin".split(),
    "flower": "rose tulip daisy lily sunflower".split(),
    "tool": "hammer saw screwdriver drill".split(),
    "vehicle": "car bus train bicycle boat truck plane".split(),
    "instrument": "piano guitar violin drum flute trumpet".split(),
    "piece of clothing": "shirt hat coat sock dress scarf".split(),
}
USES = {
    "a pen": "writing", "a knife": "cutting", "a spoon": "eating soup", "a bed": "sleeping", "a broom": "sweeping",
    "a key": "opening a lock", "an umbrella": "keeping dry in the rain", "a cup": "drinking", "scissors": "cutting paper",
    "a clock": "telling the time", "a lamp": "giving light", "an oven": "baking", "soap": "washing", "a ruler": "measuring",
    "a phone": "calling people", "a camera": "taking photos", "a map": "finding the way", "a chair": "sitting",
}  # fmt: skip
JOBS = {
    "teacher": "teaches at a school", "doctor": "helps sick people", "baker": "bakes bread", "farmer": "grows food",
    "pilot": "flies planes", "cook": "makes meals", "nurse": "cares for sick people", "painter": "paints pictures",
    "singer": "sings songs", "dentist": "looks after teeth", "firefighter": "puts out fires", "gardener": "looks after gardens",
    "writer": "writes books", "tailor": "makes clothes",
}  # fmt: skip

FIRST_NAMES = """Anna Ben Clara David Emma Frank Grace Henry Ida Jack Kate Leo Mia Noah Olivia Peter Quinn Rosa Sam Tom
Uma Victor Wendy Max Yara Zoe Alice Bob Carlos Diana Eric Fatima George Hana Ivan Julia Kim Lucas Maria Nina Oscar Paul
Ruth Sofia Theo Vera Will Amir Bella Chen Priya Ravi Omar Lena Hugo Nora Finn Lily Adam Sarah John Mary James Linda
Michael Laura Daniel Jane Mark Susan Alex Jamie Robin Mohammed Yuki Olga Pedro Ingrid""".split()
PET_KINDS = "dog cat rabbit horse parrot hamster goldfish turtle".split()
THINGS = """ball book box hat cup key lamp coin bag chair kite bell stone map shoe flag pen plate rope drum clock toy
apple cake boat ring basket bottle candle mirror""".split()
ADJECTIVES = """red blue green yellow white black brown pink purple orange small big old new tiny shiny round heavy
soft golden""".split()
PLACES = (
    "kitchen garden forest park school library house market beach castle village river mountain farm cave tower".split()
)
HOBBIES = """painting swimming reading cooking running dancing singing football chess fishing gardening hiking tennis
drawing cycling skiing knitting photography climbing basketball""".split()
FOODS = "pizza pasta soup rice bread cheese salad sushi cake apples curry noodles pancakes tacos ice_cream chocolate".replace(
    "_", "-"
).split()

_ONSETS = "b c d f g h j k l m n p r s t v w z br cr dr fl gr kl pl pr st tr sh th ch".split()
_VOWELS = "a e i o u a e i o ai ea oo ou".split()
_CODAS = ["", "", "", "", "", "n", "r", "l", "s", "m", "k", "t", "nd", "x"]


_SPELLINGS = [
    word.lower()
    for word in [
        *FIRST_NAMES,
        *THINGS,
        *PLACES,
        *HOBBIES,
        *FOODS,
        *ANIMALS,
        *CAPITALS.values(),
        *MONTHS,
        *PLURALS.values(),
    ]
    if word.isalpha() and len(word) > 3
]


def made_up(rng: random.Random, low: int = 2, high: int = 3) -> str:
    """Returns an invented word, which the model can only repeat by copying it: of syllables, or of the halves of two words."""
    kind = rng.random()
    if kind < 0.3:
        first, second = rng.choice(_SPELLINGS), rng.choice(_SPELLINGS)
        return (first[: rng.randint(2, len(first) - 1)] + second[rng.randint(1, len(second) - 2) :])[: 4 * high]
    parts = [rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(rng.randint(low, high))]
    return (rng.choice("aeiou") if kind < 0.42 else "") + "".join(parts)[:9]


def person(rng: random.Random) -> str:
    return rng.choice(FIRST_NAMES) if rng.random() < 0.4 else made_up(rng).capitalize()


def city(rng: random.Random) -> str:
    return rng.choice(list(CAPITALS.values())) if rng.random() < 0.4 else made_up(rng).capitalize()


def with_article(word: str) -> str:
    return ("an " if word[0] in "aeiou" else "a ") + word
