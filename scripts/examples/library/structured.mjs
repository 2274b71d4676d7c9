// Structured output: the reply is JSON that matches a schema, whatever the model would say otherwise.
//   node structured.mjs ["a question" [model]]

import { openTextModel, shippedModelPath } from 'svc-engine';

const [question = 'What is the capital of France?', path = shippedModelPath()] = process.argv.slice(2);

const schema = {
  type: 'object',
  properties: { capital: { type: 'string', maxLength: 40 } },
  required: ['capital'],
  additionalProperties: false,
};

const model = await openTextModel({ model: path });
let json = '';
const request = {
  prompt: { messages: [{ role: 'user', content: `${question} Answer in JSON under the key "capital".` }] },
  constraint: { type: 'json_schema', schema },
  temperature: 0,
  maxTokens: 100,
};
for await (const event of model.generate(request)) {
  if (event.type === 'delta') json += event.text;
  // "length": the reply was cut before the JSON was complete.
  if (event.type === 'done' && event.finishReason !== 'stop')
    throw new Error(`ended by ${event.finishReason}`);
}
await model.close();

console.log(JSON.parse(json));
