// Structured output: the reply is a value of a given schema, whatever the model would say otherwise.
//   node structured.mjs ["a question" [model]]

import { openTextModel, shippedModelPath } from 'svc-engine';

const [question = 'What is the capital of France?', path = shippedModelPath()] = process.argv.slice(2);

const model = await openTextModel({ model: path });
const chat = model.chat({ temperature: 0, maxTokens: 100 });

// A schema of zod does as well; the type of the value follows from either.
const { value } = await chat.send(`${question} Answer in JSON under the key "capital".`, {
  schema: {
    type: 'object',
    properties: { capital: { type: 'string', maxLength: 40 } },
    required: ['capital'],
    additionalProperties: false,
  },
});
await model.close();

console.log(value);
