// A program that never closes its model: argv is the folder. It prints the events and ends.

import { openTextModel } from '../../../src/index.ts';

const model = await openTextModel({ model: process.argv[2] ?? '', memoryBudget: 2 ** 29 });
for await (const { type } of model.generate({ prompt: { ids: [1, 2, 3] }, maxTokens: 4, ignoreEos: true }))
  console.log(type);
