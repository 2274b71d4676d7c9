// Tools: the model asks for functions of this program, and answers with what they return.
//   node tools.mjs ["a question" [model]]

import { openTextModel, shippedModelPath } from 'svc-engine';

const [question = 'What is the weather in Paris?', path = shippedModelPath()] = process.argv.slice(2);

const forecasts = { Paris: 'light rain', Tokyo: 'sunny' };
const functions = { get_weather: ({ city }) => ({ weather: forecasts[city] ?? 'unknown' }) };
const tools = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      description: 'The weather in a city',
      parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    },
  },
];

const model = await openTextModel({ model: path });
const messages = [{ role: 'user', content: question }];

/** One reply: its text, and the calls whose arguments arrive in pieces. */
async function reply() {
  let content = '';
  const calls = [];
  for await (const event of model.generate({ prompt: { messages, tools }, temperature: 0, maxTokens: 200 })) {
    if (event.type === 'delta') content += event.text;
    if (event.type !== 'toolCall') continue;
    calls[event.call] ??= { id: event.id, type: 'function', function: { name: event.name, arguments: '' } };
    calls[event.call].function.arguments += event.arguments;
  }
  return { content, calls };
}

for (let turn = 0; turn < 5; turn++) {
  const { content, calls } = await reply();
  if (calls.length === 0) {
    console.log(content);
    break;
  }
  messages.push({ role: 'assistant', content, tool_calls: calls });
  for (const { id, function: called } of calls) {
    const result = functions[called.name]?.(JSON.parse(called.arguments)) ?? { error: 'no such function' };
    console.log(`${called.name}(${called.arguments}) = ${JSON.stringify(result)}`);
    messages.push({ role: 'tool', tool_call_id: id, content: JSON.stringify(result) });
  }
}
await model.close();
