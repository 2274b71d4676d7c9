"""Functions for the tool conversations: everyday ones in many spellings, and wholly made-up ones.

A request shares words with the name or the description of the function that it needs, and that
is all there is to go by.
"""

import random
from dataclasses import dataclass

import world as w
from phrases import expand, sentence


@dataclass(frozen=True)
class Everyday:
    request: str
    name: str
    about: str
    arguments: dict[str, str]
    """Parameter name (one of `a|b`) → kind of its value; texts name the values {v} and {u}, in this order."""
    result: dict[str, str]
    """Key of the result → kind of its value; texts name the values {r} and {s}, in this order."""
    reply: str


EVERYDAY = [
    Everyday("[[what is|how is|what's|check|tell me|show me|get] the weather [like |][in|for|at] {v}|weather in {v}|is it [raining|sunny|warm] in {v}]", "[get|fetch|check|current]_[weather|weather|forecast]", "Get the [current |][weather|weather forecast] [in|for] a [city|location|place]", {"city|location|place|town": "city"}, {"weather|conditions|summary": "weather"}, "[The weather in {v} is {r}|It is {r} in {v}]."),
    Everyday("[[what is|get|tell me] the temperature in {v}|how [warm|cold|hot] is it in {v}]", "[get|read|fetch]_temperature", "Get the temperature [in|of] a [city|place]", {"city|place|location": "city"}, {"temperature|degrees": "value"}, "[It is {r} degrees in {v}|The temperature in {v} is {r}]."),
    Everyday("[what time is it in {v}|what is the time in {v}|[current |]time in {v}|tell me the time in {v}]", "[get|current|fetch]_time", "Get the [current |]time in a [city|timezone|place]", {"city|timezone|place": "city"}, {"time|now": "time"}, "[It is {r} in {v}|The time in {v} is {r}]."),
    Everyday("[send an email to|email|write an email to|mail] {v}", "[send|write]_[email|mail]", "Send an email to a person", {"to|recipient|person": "person"}, {"status|result": "status"}, "The email to {v} is {r}."),
    Everyday("[[send a message to|message|text] {v}[:| saying| with the text] {u}|tell {v} {u}]", "[send|text]_[message|sms]", "Send a [text |]message to a person", {"to|recipient|person": "person", "text|message|body": "title"}, {"status": "status"}, "The message to {v} is {r}."),
    Everyday("[call|phone|ring|make a call to] {v}", "[call|phone]_[contact|person]", "Call a person on the phone", {"name|contact|person": "person"}, {"status|result": "status"}, "[Calling {v}: {r}|The call to {v} is {r}]."),
    Everyday("[play|put on|start|I want to hear] [the song |][ |]{v}", "play_[music|song|track]", "Play a song[ by its title|]", {"song|title|track": "title"}, {"status": "status"}, "[The song {v} is {r}|{v} is {r}]."),
    Everyday("[search|search the web|look|google|search online] for {v}", "[search|web]_[web|search|internet]", "Search the [web|internet]", {"query|q|text": "title"}, {"result|top": "title"}, "[I found this for {v}: {r}|The search says: {r}]."),
    Everyday("[[set an alarm|set the alarm] [for|at] {v}|wake me [up |][at|by] {v}|alarm at {v}]", "[set|create]_alarm", "Set an alarm[ clock|]", {"time|at": "time"}, {"status|alarm": "status"}, "[Your|The] alarm for {v} is {r}."),
    Everyday("[set|start|make] a [timer for {v} minutes|{v} minute timer]", "[set|start]_timer", "Start a timer", {"minutes|duration": "number"}, {"status": "status"}, "The timer for {v} minutes is {r}."),
    Everyday("[what is the price of|how much is|how much does it cost to buy|price of] [a |the |]{v}", "[get|check|find]_price", "Get the price of a product", {"product|item|name": "thing"}, {"price|cost": "value"}, "[The price of {v} is {r}|{v} costs {r}]."),
    Everyday("[turn|switch] {u} the [light|lamp] in the {v}|[turn|switch] {u} the {v} [light|lamp]", "[set|switch|control]_[light|lamp]", "Turn the light in a room on or off", {"room|place": "place", "state|power": "switch"}, {"status": "status"}, "The light in the {v} is {r}."),
    Everyday("[turn|switch] {u} the {v}", "[set|switch]_[device|power]", "Turn a device on or off", {"device|name": "thing", "state|power": "switch"}, {"status": "status"}, "The {v} is {r}."),
    Everyday("[book|find|reserve|get] a table for {v}[ people| persons|]", "[book|reserve]_table", "[Book|Reserve] a table [in|at] a restaurant", {"people|guests|count": "small"}, {"status|table": "status"}, "The table for {v} [people |]is {r}."),
    Everyday("[find|book|get me|search|I need] a flight to {v}|[fly|flights] to {v}", "[find|search|book]_[flight|flights]", "[Find|Search for] a flight to a [city|destination]", {"destination|to|city": "city"}, {"flight|number": "code"}, "The flight to {v} is {r}."),
    Everyday("[find|book|get me|I need] a hotel in {v}", "[find|search|book]_hotel", "Find a hotel in a city", {"city|place": "city"}, {"hotel|name": "title"}, "[I found the hotel {r} in {v}|The hotel in {v} is {r}]."),
    Everyday("[how many people live in|what is the population of] {v}", "[get|find]_population", "Get the population of a place", {"place|country|city": "city"}, {"population|people": "number"}, "{v} has {r} people."),
    Everyday("[add|put] {v} [to|on] [my|the] [shopping |]list", "add_[item|to_list]", "Add an item to the [shopping |]list", {"item|name": "thing"}, {"status": "status"}, "{v} on the list: {r}."),
    Everyday("[remind me about|make a reminder for|remind me of|reminder:] {v}", "[create|set|add]_reminder", "Create a reminder", {"text|about|title": "title"}, {"status|reminder": "status"}, "The reminder for {v} is {r}."),
    Everyday("[add|make|create|schedule] [an event|a meeting] {v} at {u}", "[create|add]_[event|meeting]", "Add an event to the calendar", {"title|name|event": "title", "time|start": "time"}, {"status": "status"}, "The event {v} at {u} is {r}."),
    Everyday("[open|read|show me|print] [the |]file {v}", "[read|open]_file", "Read a file", {"path|file|name": "file"}, {"content|text": "title"}, "The file {v} says {r}."),
    Everyday("[delete|remove|erase] [the |]file {v}", "[delete|remove]_file", "Delete a file", {"path|file|name": "file"}, {"status|result": "status"}, "The file {v} is {r}."),
    Everyday("[translate|translate the word] {v} [to|into] {u}", "translate_[text|word]", "Translate text into another language", {"text|word": "title", "language|to|target": "language"}, {"translation|text": "title"}, "{v} in {u} is {r}."),
    Everyday("[where is|find|track|check] [my|the] [order|package|parcel] {v}", "track_[order|package|parcel]", "Track [an order|a package|a parcel] by its number", {"order|number|id|tracking": "code"}, {"place|location": "place"}, "[The order {v} is at the {r}|{v} is at the {r}]."),
    Everyday("[convert|change|exchange] {v} [to|into] {u}", "[convert|exchange]_[currency|money]", "Convert [money|an amount] into another currency", {"amount|value": "number", "currency|to|target": "currency"}, {"result|amount": "value"}, "That is {r} {u}."),
    Everyday("[send|pay|transfer] {v} to {u}", "[send|transfer]_money", "Send money to a person", {"amount|sum": "number", "to|person|recipient": "person"}, {"status": "status"}, "The {v} to {u} is {r}."),
    Everyday("[what is the stock price of|get the stock price of|stock of|how is the stock of] {v}", "[get|check]_stock", "Get the stock price of a company", {"company|symbol": "title"}, {"price|value": "value"}, "The stock of {v} is at {r}."),
    Everyday("[who is the author of|who wrote|find the author of] {v}", "[find|get]_author", "Find the author of a book", {"book|title": "title"}, {"author|name": "person"}, "[{v} is by {r}|The author of {v} is {r}]."),
    Everyday("[what is the news about|get me news about|read news about|any news about] {v}", "[get|read]_news", "Get news about a topic", {"topic|query": "title"}, {"headline|news": "title"}, "The news about {v}: {r}."),
    Everyday("[look up|find|show|who is] the user {v}", "[find|get|lookup]_user", "[Find|Look up] a user by name", {"name|user": "person"}, {"id|number": "number"}, "The user {v} has the number {r}."),
    Everyday("[set|make|change] the [heating|temperature] in the {v} to {u}", "set_[temperature|heating]", "Set the temperature of a room", {"room": "place", "degrees|temperature": "small"}, {"status": "status"}, "The {v} is set to {u}: {r}."),
    Everyday("[[what is|show me|get] the way to|directions to|how do I get to|navigate to] {v}", "[get|find]_[directions|route|way]", "Get directions to a place", {"destination|place|to": "city"}, {"distance|minutes": "value"}, "[The way to {v} is {r} long|It is {r} to {v}]."),
    Everyday("[[set|change|turn] the volume to|volume] {v}", "[set|change]_volume", "Set the volume of the [speaker|music]", {"level|volume|percent": "small"}, {"status": "status"}, "The volume of {v} is {r}."),
    Everyday("[[find|give me|show me] a recipe for|recipe for|how do I cook] {v}", "[find|get|search]_recipe", "Find a recipe for a [dish|meal]", {"dish|meal|food": "thing"}, {"title|recipe": "title"}, "[The recipe for {v} is {r}|I found {r} for {v}]."),
    Everyday("[[buy|get|book] [a ticket|tickets] for|I want to see] {v}", "[buy|book]_[ticket|tickets]", "Buy a ticket for a show", {"show|event|title": "title"}, {"seat|ticket": "code"}, "Your [seat|ticket] for {v} is {r}."),
    Everyday("[watch|play|start|show me] the [video|film|movie] {v}", "[play|watch|start]_[video|movie|film]", "Play a [video|film|movie]", {"title|video|film": "title"}, {"status": "status"}, "[The film {v} is {r}|{v} is {r}]."),
    Everyday("[how far is it|what is the distance] from {v} to {u}", "[get|find]_distance", "Get the distance between two cities", {"from|start": "city", "to|end": "city"}, {"distance|km": "value"}, "It is {r} from {v} to {u}."),
    Everyday("[add|save|store] the [contact|number of] {v} [with|as] {u}", "[add|save]_contact", "Save a contact and the number", {"name|person": "person", "number|phone": "number"}, {"status": "status"}, "The contact {v} is {r}."),
    Everyday("[take|write|make|save] a note[:| saying| that says] {v}", "[take|write|add]_note", "[Write|Save] a note", {"text|note|content": "title"}, {"status|id": "status"}, "The note {v} is {r}."),
    Everyday("[cancel|delete] the [meeting|event|appointment] {v}", "[cancel|delete]_[meeting|event]", "Cancel a meeting", {"title|name|event": "title"}, {"status": "status"}, "The meeting {v} is {r}."),
    Everyday("[lock|close] the [door|window] of the {v}", "[lock|close]_[door|window]", "[Lock|Close] a door or window", {"room|place": "place"}, {"status": "status"}, "The {v} is {r}."),
    Everyday("[order|get me|I want to order] {v} {u}", "order_[food|item|product]", "Order a product", {"quantity|amount|count": "small", "item|product|food": "thing"}, {"status|order": "code"}, "Your order of {v} {u} is {r}."),
]  # fmt: skip
VERBS = "find check count open close start stop send move save load paint clean rank measure test build fix ship store lock unlock print scan sort order cancel update review create list show read get set add delete remove call book search play write turn make track water feed charge reset empty fill".split()
NOUNS = "report ticket invoice user room door light camera robot engine parcel garden recipe photo song note meeting task server sensor pump valve file account truck train ship wallet badge shelf ward order lesson contact event message playlist video alarm page table plant battery window bill room list".split()


def _title(rng: random.Random) -> str:
    words = [
        w.made_up(rng) if rng.random() < 0.6 else rng.choice(w.ADJECTIVES + w.THINGS + w.PLACES)
        for _ in range(rng.choice([1, 1, 2]))
    ]
    return " ".join(map(str.capitalize, words) if rng.random() < 0.4 else words)


VALUES = {
    "city": w.city,
    "person": w.person,
    "title": _title,
    "thing": lambda r: r.choice(w.THINGS) if r.random() < 0.5 else w.made_up(r),
    "number": lambda r: r.randint(1, 99) if r.random() < 0.75 else r.randint(100, 9999),
    "value": lambda r: r.choice([r.randint(1, 99), r.randint(100, 9999), r.randint(1, 999) / 10]),
    "small": lambda r: r.randint(1, 30),
    "time": lambda r: f"{r.randint(1, 23)}:{r.randint(0, 59):02}" if r.random() < 0.7 else f"{r.randint(1, 12)} {r.choice(['am', 'pm'])}",
    "code": lambda r: "".join(r.choice("ABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(r.choice([1, 1, 2, 3]))) + r.choice(["", "", "", "-"]) + str(r.randint(1, 99999)),
    "file": lambda r: w.made_up(r) + r.choice([".txt", ".md", ".csv", ".json", ".py"]),
    "status": lambda r: r.choice("done ok sent ready saved on off started booked set active finished queued playing confirmed open".split()),
    "weather": lambda r: r.choice("sunny rainy cloudy windy snowy foggy warm cold stormy clear".split()),
    "place": lambda r: r.choice(w.PLACES + ["bedroom", "bathroom", "office", "hall"]) if r.random() < 0.7 else w.made_up(r),
    "switch": lambda r: r.choice(["on", "off"]),
    "language": lambda r: r.choice(["French", "German", "Spanish", "Italian", "Greek", w.made_up(r).capitalize()]),
    "currency": lambda r: r.choice(["euro", "dollar", "yen", "pound", "EUR", "USD", w.made_up(r)]),
}  # fmt: skip
NUMERIC = ("number", "small")


@dataclass
class Task:
    """A function, a user request that needs it, the call that serves the request, its result, and the reply about the result."""

    schema: dict
    request: str
    arguments: dict
    result: dict
    reply: str
    source: str
    """Name of the data that the task is about: two tasks of one source are offered together only if they are meant to be alike."""
    words: tuple[str, str] = ("", "")
    """Verb and noun of a made-up task."""

    @property
    def name(self) -> str:
        return self.schema["function"]["name"]

    @property
    def about(self) -> str:
        return self.schema["function"]["description"]

    @property
    def keep(self) -> tuple[str, ...]:
        """Returns the words of the request that rephrasing must not change."""
        return (*map(str, self.arguments.values()), *self.arguments, self.about)


def _parameter(rng: random.Random, name: str, kind: str) -> dict:
    schema: dict = {"type": rng.choice(["integer", "integer", "number"]) if kind in NUMERIC else "string"}
    if rng.random() < 0.15:
        schema["description"] = f"The {name}"
    if kind == "switch" and rng.random() < 0.6:
        schema["enum"] = ["on", "off"]
    return schema


def _schema(name: str, about: str, parameters: dict[str, dict]) -> dict:
    return {
        "type": "function",
        "function": {
            "name": name,
            "description": about,
            "parameters": {"type": "object", "properties": parameters, "required": list(parameters)},
        },
    }


def _spelling(rng: random.Random, name: str) -> str:
    words = name.split("_")
    style = rng.random()
    if style < 0.6:
        return name
    if style < 0.75:
        return "-".join(words)
    if style < 0.9:
        return words[0] + "".join(map(sentence, words[1:]))
    return name + "_" + w.made_up(rng, 1, 2)


def everyday(rng: random.Random) -> Task:
    one = rng.choice(EVERYDAY)
    slots: dict[str, object] = {}
    arguments, parameters, result = {}, {}, {}
    for slot, (names, kind) in zip("vu", one.arguments.items()):
        name = rng.choice(names.split("|")) if rng.random() < 0.85 else w.made_up(rng, 1, 2)
        slots[slot] = arguments[name] = VALUES[kind](rng)
        parameters[name] = _parameter(rng, name, kind)
    for slot, (names, kind) in zip("rs", one.result.items()):
        slots[slot] = result[rng.choice(names.split("|"))] = VALUES[kind](rng)
    reply = expand(rng, one.reply, **slots)
    if rng.random() < 0.15:
        key, value = w.made_up(rng, 1, 2), VALUES[rng.choice(["value", "status", "place"])](rng)
        result[key] = value
        reply += f" The {key} is {value}."
    return Task(
        _schema(_spelling(rng, expand(rng, one.name)), expand(rng, one.about), parameters),
        expand(rng, "[" + one.request + "]", **slots),
        arguments,
        result,
        reply,
        one.name,
    )


def made_up(rng: random.Random, like: Task | None = None) -> Task:
    """A task of an invented function. One that is `like` another has its verb or its noun, so that the other word decides."""
    verb = rng.choice(VERBS) if rng.random() < 0.6 else w.made_up(rng, 1, 2)
    noun = rng.choice(NOUNS) if rng.random() < 0.5 else w.made_up(rng)
    if like is not None and like.words[0]:
        verb, noun = (like.words[0], noun) if rng.random() < 0.5 else (verb, like.words[1])
    name = rng.choice(
        [f"{verb}_{noun}", f"{verb}_{noun}", f"{noun}_{verb}", verb, w.made_up(rng) + "_" + w.made_up(rng)]
    )
    about = expand(
        rng,
        "[{V} a {n}|{V} the {n}|{V} the {p} of a {n}|{V} one {n}|This can {v} a {n}|{V} any {n}|{V} a {n} by {p}]",
        V=sentence(verb),
        v=verb,
        n=noun,
        p=rng.choice(["name", "id", "number"]),
    )
    kind = rng.choice(["title", "number", "code", "person", "city", "thing"])
    parameter = {
        "title": "name",
        "number": rng.choice(["id", "number", "count", "amount"]),
        "code": "code",
        "person": "person",
        "city": "place",
        "thing": "item",
    }[kind]
    if rng.random() < 0.4:
        parameter = rng.choice([noun, w.made_up(rng, 1, 2)])
    value = VALUES[kind](rng)
    arguments, parameters = {parameter: value}, {parameter: _parameter(rng, parameter, kind)}
    request = expand(
        rng,
        "[{verb} the {n} {v}|{verb} {n} {v}|{verb} the {v} {n}|{verb} {v} {n}|{verb} the {n} called {v}|{verb} the {n} with {p} {v}|{verb} a {n} for {v}|{verb} my {n} {v}]",
        verb=verb,
        n=noun,
        v=value,
        p=parameter,
    )
    if rng.random() < 0.3:
        second, kind = (
            rng.choice(["size", "color", "speed", "owner", "room", w.made_up(rng, 1, 2)]),
            rng.choice(["number", "thing", "person"]),
        )
        if second not in arguments:
            arguments[second] = VALUES[kind](rng)
            parameters[second] = _parameter(rng, second, kind)
            request += " " + expand(rng, "[with {s} {v}|and {s} {v}|using {s} {v}]", s=second, v=arguments[second])
    key = rng.choice(["result", "status", "value", "answer", w.made_up(rng, 1, 2)])
    result = {key: VALUES[rng.choice(["status", "value", "title", "code", "place", "person"])](rng)}
    reply = expand(
        rng,
        "[The {key} is {r}.|The {key} of the {n} is {r}.|Done. The {key} is {r}.|The tool says: {r}.]",
        key=key,
        r=result[key],
        n=noun,
    )
    return Task(_schema(_spelling(rng, name), about, parameters), request, arguments, result, reply, verb, (verb, noun))


def task(rng: random.Random) -> Task:
    return everyday(rng) if rng.random() < 0.6 else made_up(rng)
