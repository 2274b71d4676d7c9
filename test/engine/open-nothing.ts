// A program whose model cannot be opened: argv is the folder. It prints the error's code and ends by itself.

import { EngineError, openTextModel } from '../../src/index.ts';

await openTextModel({ model: process.argv[2] ?? '' }).catch((error: unknown) => {
  console.error(error instanceof EngineError ? error.code : error);
});
