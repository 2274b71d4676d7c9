// A program that ends by itself while its model opens or generates: argv is the folder, and when. Its exit code is 7.

import { openTextModel } from '../../../src/index.ts';

const [model = '', when] = process.argv.slice(2);
const leaveAtWarmup = (type: string): void =>
  void (when === 'opening' && type === 'warmup' && process.exit(7));
const opened = await openTextModel({ model, memoryBudget: 2 ** 29 }, ({ type }) => leaveAtWarmup(type));
for await (const { type } of opened.generate({ prompt: { ids: [1, 2, 3] }, ignoreEos: true }))
  if (type === 'delta') process.exit(7);
