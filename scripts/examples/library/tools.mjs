// Tools: the model asks for functions of this program, and answers with what they return.
//   node tools.mjs ["a question" [model]]

import { openTextModel, shippedModelPath } from 'svc-engine';

const [question = 'What is the weather in Paris?', path = shippedModelPath()] = process.argv.slice(2);

/** @type {Record<string, string>} */
const forecasts = { Paris: 'light rain', Tokyo: 'sunny' };

const model = await openTextModel({ model: path });
const chat = model.chat({
  temperature: 0,
  maxTokens: 200,
  tools: {
    get_weather: {
      description: 'The weather in a city',
      schema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      run: ({ city }) => ({ weather: forecasts[city] ?? 'unknown' }),
    },
  },
});

for await (const event of chat.send(question)) {
  if (event.type === 'toolResult')
    console.log(`${event.name}(${JSON.stringify(event.arguments)}) = ${JSON.stringify(event.result)}`);
  if (event.type === 'delta') process.stdout.write(event.text);
}
console.log();
await model.close();
