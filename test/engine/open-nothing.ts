// A program whose model does not open: argv is the folder. It says the error's code, and ends by itself.

import { EngineError, openTextModel } from '../../src/index.ts';

await openTextModel({ model: process.argv[2] ?? '' }).catch((error: unknown) => {
  console.error(error instanceof EngineError ? error.code : error);
});
