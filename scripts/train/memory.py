"""What the user tells of himself and asks about later: the name above all."""

import random

import world as w
from exchange import Exchange
from phrases import expand, roughen, sentence

# what is told, how it is told, the reply, how it is asked for, the reply to that
MEMORIES = {
    "name": (w.person, ["my name is {v}", "[I am|I'm|im] {v}", "[call me|you can call me] {v}", "[hi|hello|hey], [I am|I'm|my name is|this is|it's|its] {v}", "[hi|hello|hey][,|] my name is {v}, [what is yours|how are you|nice to meet you]?", "the name is {v}", "{v} is my name", "they call me {v}", "my name's {v}", "[my friends|all my friends|most people|everyone|my family] [call|calls] me {v}", "I go by [the name |]{v}", "[I am|I'm] [called|named] {v}", "you are [talking|speaking|chatting] [to|with] {v}", "[please |]remember [that |]my name is {v}", "my [first |full |]name is {v}", "{v} [here|speaking|is here]", "it is me, {v}", "[you should know that |by the way, |so, ]I am {v}", "[just|please] call me {v}", "{v} is what [they|people|my friends] call me", "[my parents|they] named me {v}", "people know me as {v}"],
             ["[Nice to meet you|Hello|Hi|Pleased to meet you|Good to meet you|Hey], {v}! [How can I help?|I am Mini.|What can I do for you?|]", "[Hello|Hi] {v}! [How can I help you?|I am Mini.|Nice to meet you.]"],
             ["what is my name?", "what's my name?", "[do you remember|do you know|do you still know] my name?", "who am I?", "can you tell me my name?", "what did I say my name was?", "my name?", "tell me my name", "say my name", "[what|which] name did I tell you?", "how am I called?", "what was my name again?", "remind me, what am I called?"],
             ["Your name is {v}.", "You are {v}.", "{v}!", "You told me your name is {v}.", "Your name is {v}, of course.", "It is {v}.", "You are called {v}.", "I remember: {v}."], 4),
    "favourite colour": (lambda r: r.choice(w.KINDS["colour"]) if r.random() < 0.7 else w.made_up(r), ["my [favourite|favorite] [colour|color] is {v}", "I like the [colour|color] {v} [best|most]", "[of all colours|among colours] I [prefer|pick] {v}", "{v} is my [favourite|favorite] [colour|color]", "[nothing is prettier than|no colour beats] {v}", "the [colour|color] I like most is {v}"], ["[{V} is a nice colour|Good choice|I like {v} too|{V}! Nice]!"],
                         ["what is my [favourite|favorite] [colour|color]?", "[which|what] [colour|color] do I like?", "do you know my [favourite|favorite] [colour|color]?", "which color did I say I like?"], ["Your favourite colour is {v}.", "It is {v}.", "You like {v}.", "You told me: {v}."], 1),
    "pet": (lambda r: w.person(r), ["I have a {k} [named|called] {v}", "my {k} is [called|named] {v}", "my {k}'s name is {v}", "{v} is my {k}", "I [got|have got|own] a {k}, [his|her|its] name is {v}", "we [call|named] our {k} {v}", "at home I have a {k} called {v}", "the name of my {k} is {v}"], ["[{V} is a nice name for a {k}|What a nice {k}|Say hello to {v}|I like the name {v}]!"],
            ["what is the name of my {k}?", "what is my {k} called?", "what's my {k}'s name?", "do you remember the name of my {k}?", "how did I name my {k}?"], ["Your {k} is called {v}.", "The name of your {k} is {v}.", "{v}.", "Your {k}'s name is {v}."], 1),
    "city": (w.city, ["I live in {v}", "I am from {v}", "my home is in {v}", "I come from {v}", "{v} is my home", "{v} is where I live", "my [house|flat|family] is in {v}", "I [moved to|grew up in|was born in] {v}", "[I am living|I'm living] in {v}", "my city is {v}"], ["[{v} sounds nice|{v} must be a nice place|I hope {v} is nice]!"],
             ["where do I live?", "where am I from?", "which city do I live in?", "do you know where I live?", "in which place did I say I live?"], ["You live in {v}.", "In {v}.", "You told me that you live in {v}.", "{v}."], 1),
    "age": (lambda r: r.randint(5, 95), ["I am {v} years old", "my age is {v}", "I'm {v} years old", "I am {v}[ now|]", "[I turned|I have turned] {v} [this year|today|last week]", "{v} is my age", "{v} years is my age", "[I have|I've] lived for {v} years", "I just turned {v}"], ["[{v} is a good age|{v} is a fine age|Good to know, {v}]!"],
            ["how old am I?", "what is my age?", "do you know my age?", "what age did I tell you?"], ["You are {v} years old.", "You are {v}.", "{v}.", "You told me that you are {v}."], 1),
    "hobby": (lambda r: r.choice(w.HOBBIES), ["I like {v}", "my hobby is {v}", "I love {v}", "{v} is my hobby", "{v} is what I like", "[in my free time|on weekends] I like {v}", "I am [fond of|crazy about|into] {v}", "I enjoy {v}"], ["[{V} is fun|{V} sounds fun|That is a nice hobby]!"],
              ["what is my hobby?", "what do I like?", "what do I like to do?", "do you know my hobby?", "which hobby did I tell you about?"], ["You like {v}.", "Your hobby is {v}.", "{V}.", "You told me that you like {v}."], 1),
    "food": (lambda r: r.choice(w.FOODS) if r.random() < 0.7 else w.made_up(r), ["my [favourite|favorite] food is {v}", "I love to eat {v}", "I like to eat {v}", "{v} is my [favourite|favorite] food", "{v} is what I like to eat", "I could eat {v} every day", "[nothing is better than|no food beats] {v}", "the food I like most is {v}"], ["[{V} is tasty|{V} sounds tasty|Yum, {v}]!"],
             ["what is my [favourite|favorite] food?", "what do I like to eat?", "which food do I like?", "what did I say I love to eat?"], ["Your favourite food is {v}.", "You like {v}.", "{V}.", "You like to eat {v}."], 1),
    "secret word": (lambda r: w.made_up(r), ["the [secret|magic|code] word is {v}", "remember the word {v}", "[please|] remember this word: {v}", "[do not forget|please keep|store] the word {v}", "my [secret |]word is {v}", "{v} is the [secret|magic|code] word", "[note|save] this word: {v}", "keep this word in mind: {v}"], ["[Okay|Got it|I will remember it|Okay, I keep it in mind]!"],
                    ["what is the [secret|magic|code] word?", "what was the word?", "which word did I [tell you|say]?", "do you remember the word?", "tell me the word I gave you"], ["The word is {v}.", "{v}.", "It is {v}.", "The word was {v}."], 1),
}  # fmt: skip
NOT_TOLD = [
    "You have not told me [yet|that yet].",
    "I do not know yet. [Please tell me.|Tell me!]",
    "You did not tell me [yet|that].",
    "I do not know [that |]yet. You have not told me.",
]


def tell_and_ask(rng: random.Random, held_out: bool, topic: str | None = None) -> tuple[Exchange, Exchange]:
    topic = topic or rng.choices(list(MEMORIES), [m[5] for m in MEMORIES.values()])[0]
    draw, tells, replies, asks, answers, _ = MEMORIES[topic]
    v = draw(rng)
    slots = {"v": v, "V": sentence(str(v)), "k": rng.choice(w.PET_KINDS)}
    if topic in ("name", "pet", "city") and rng.random() < 0.3:
        slots["v"] = slots["V"] = str(v).lower()
    keep = (str(slots["v"]),)
    tell = Exchange(
        roughen(rng, expand(rng, tells[-1] if held_out else rng.choice(tells[:-1]), **slots), keep),
        sentence(expand(rng, rng.choice(replies), **slots)),
        "The user tells me something.",
        [str(slots["v"])],
    )
    if str(slots["v"]) not in tell.reply:
        tell.expect = []
    ask = Exchange(
        roughen(rng, expand(rng, asks[-1] if held_out else rng.choice(asks[:-1]), **slots)),
        expand(rng, rng.choice(answers), **slots),
        "The user told me before.",
        [str(slots["v"])],
    )
    return tell, ask


def ask_untold(rng: random.Random, held_out: bool, topic: str | None = None) -> Exchange:
    _, ask = tell_and_ask(rng, held_out, topic)
    return Exchange(ask.user, expand(rng, rng.choice(NOT_TOLD)), "The user has not told me.", ["not"])
