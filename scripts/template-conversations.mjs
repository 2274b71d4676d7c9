// Conversations for scripts/check-templates.mjs: nine of a kind each, their words drawn by a seed, and each in the forms that explain what a
// server does where a template does not take what the client sent.

const WORDS =
  'the sky looks blue when light bends through water and air over old quiet hills near rivers where people walk slowly home'.split(
    ' ',
  );
const ODD = [
  'caf\u00e9',
  '\u65e5\u672c\u8a9e',
  '\ud83d\ude80',
  '\u00a0',
  '\u200b',
  '<|x|>',
  "it's",
  '"quoted"',
  '{{ x }}',
  '&amp;',
  '\\n',
  '\t',
];

function generator(seed) {
  let state = seed >>> 0 || 1;
  return (count) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * count);
  };
}

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Weather of a place.\nBy day.',
    parameters: {
      type: 'object',
      properties: {
        place: { type: 'string', description: 'A city, e.g. "S\u00e3o Paulo"' },
        days: { type: 'integer', default: 1, minimum: 1 },
        unit: { type: 'string', enum: ['C', 'F'] },
        tags: { type: 'array', items: { type: 'string' } },
      },
      required: ['place'],
    },
  },
};
const CLOCK = {
  type: 'function',
  function: { name: 'clock', description: 'The time.', parameters: { type: 'object', properties: {} } },
};

const call = (id, name, given) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(given) },
});
const mapCalls = (messages, change) =>
  messages.map((message) =>
    message.tool_calls ? { ...message, tool_calls: message.tool_calls.map(change) } : message,
  );
const parsed = ({ function: called, ...rest }) => ({
  ...rest,
  function: { ...called, arguments: JSON.parse(called.arguments) },
});
const emptied = (messages) =>
  messages.map((message) => (message.content === null ? { ...message, content: '' } : message));
const silent = (messages) =>
  messages.map((message) =>
    message.tool_calls && !message.content ? { ...message, content: null } : message,
  );
const joined = (messages) =>
  messages.map((message) =>
    Array.isArray(message.content)
      ? { ...message, content: message.content.map(({ text }) => text).join('\n') }
      : message,
  );
const parts = (messages) =>
  messages.map((message) =>
    typeof message.content === 'string'
      ? { ...message, content: [{ type: 'text', text: message.content }] }
      : message,
  );

/** The form of a conversation in which servers hand it to transformers. */
export const OBJECTS = 'arguments of calls are objects';

/** Every form that differs from what was sent, by what it is. */
function formsOf(messages) {
  const forms = { 'as sent': messages };
  const add = (name, form) => {
    if (JSON.stringify(form) !== JSON.stringify(messages)) forms[name] = form;
  };
  const objects = mapCalls(messages, parsed);
  add(OBJECTS, objects);
  add('content beside calls is None, as the template takes calls only then', silent(messages));
  add('content beside calls is None and arguments are objects', silent(objects));
  add('parts are joined, as the template takes text only', joined(messages));
  add('text is a part, as the template takes parts only', parts(messages));
  add('null content is empty, as the template fails on None', emptied(messages));
  add('null content is empty and arguments are objects', emptied(objects));
  add('text is a part and arguments are objects', parts(objects));
  return forms;
}

/** @returns {{ name: string, tools: object[] | null, addGenerationPrompt: boolean, kwargs: object, forms: Record<string, object[]> }[]} */
export function conversationsOf(seed) {
  const draw = generator(seed);
  const say = (length = 4 + draw(12)) => Array.from({ length }, () => WORDS[draw(WORDS.length)]).join(' ');
  const odd = () =>
    ` ${ODD[draw(ODD.length)]}${say(3)}\r\n${ODD[draw(ODD.length)]}\n\n  ${say(2)} ${ODD[draw(ODD.length)]}\n`;
  const user = (content = say()) => ({ role: 'user', content });
  const assistant = (content = say(), more = {}) => ({ role: 'assistant', content, ...more });
  const system = (content = say()) => ({ role: 'system', content });
  const result = (id, name, content = JSON.stringify({ sky: say(2), degrees: draw(40) })) => ({
    role: 'tool',
    tool_call_id: id,
    name,
    content,
  });
  const weather = call('abcDEF123', 'get_weather', {
    place: 'S\u00e3o Paulo',
    days: draw(9),
    unit: 'C',
    tags: ['a', "b's"],
  });
  const clock = call('ghiJKL456', 'clock', {});
  const tools = [WEATHER, CLOCK];
  const made = (name, messages, { given = null, addGenerationPrompt = true, kwargs = {} } = {}) => ({
    name,
    tools: given,
    addGenerationPrompt,
    kwargs,
    forms: formsOf(messages),
  });
  return [
    made('plain', [user()]),
    made('system, without generation prompt', [system(), user(), assistant()], {
      addGenerationPrompt: false,
    }),
    made('many turns', [system(), user(), assistant(), user(), assistant(), user()], {
      kwargs: { enable_thinking: false, thinking: false },
    }),
    made(
      'a call and its result',
      [
        user(),
        assistant('', { tool_calls: [weather] }),
        result('abcDEF123', 'get_weather'),
        assistant(),
        user(),
      ],
      { given: tools },
    ),
    made(
      'parallel calls',
      [
        system(),
        user(),
        assistant(say(), { tool_calls: [weather, clock] }),
        result('abcDEF123', 'get_weather'),
        result('ghiJKL456', 'clock', '12:00'),
      ],
      { given: tools },
    ),
    made(
      'reasoning',
      [
        user(),
        assistant(say(), { reasoning_content: `${say()}\n${say()}` }),
        user(),
        assistant(say(), { reasoning_content: say() }),
      ],
      { addGenerationPrompt: false, kwargs: { enable_thinking: true } },
    ),
    made('parts', [
      user([
        { type: 'text', text: say() },
        { type: 'text', text: ` ${say()} ` },
      ]),
    ]),
    made(
      'null content',
      [
        user(),
        assistant(null, { tool_calls: [weather] }),
        result('abcDEF123', 'get_weather'),
        assistant(null),
        user(),
      ],
      { given: tools },
    ),
    made('odd texts and further members', [
      { ...system(odd()), weight: 0.5 },
      { ...user(odd()), name: 'Ada', custom: { deep: [1, null, true] } },
      assistant(odd(), { thinking: odd(), refusal: null }),
      user(odd()),
    ]),
  ];
}
