#!/usr/bin/env node
// The executable svc. If the GPU binding cannot be loaded, no command can run, and this file prints what the system needs.

import { remedies, thisSystem } from './remedy.ts';

try {
  const [{ run }, { COMMANDS }] = await Promise.all([import('./run.ts'), import('./commands.ts')]);
  await run(process.argv.slice(2), COMMANDS);
} catch (error) {
  const reason = error instanceof Error ? error.message : String(error);
  console.error(['The GPU binding cannot be loaded.', reason, ...remedies(thisSystem())].join('\n'));
  process.exitCode = 1;
}
