// Asks the shipped model one question, in whatever runtime runs this file, and prints the answer. Argument: "inline" or "worker", where the engine runs.

import { openTextModel, shippedModelPath } from '../../dist/index.js';

const model = await openTextModel({
  model: shippedModelPath(),
  inline: process.argv[2] === 'inline',
  memoryBudget: 1e9,
});
let said = '';
const messages = [{ role: 'user', content: 'What is the capital of France?' }];
for await (const event of model.generate({ prompt: { messages }, temperature: 0 }))
  if (event.type === 'delta') said += event.text;
await model.close();
console.log(said);
