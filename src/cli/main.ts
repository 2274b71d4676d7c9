#!/usr/bin/env node
// The executable svc. A command loads the engine when it needs it. Everything else is loaded once the version of Node is known to be new enough.

import { nodeProblem } from '../options/node-version.ts';

const problem = nodeProblem(process.versions);
if (problem === null) {
  const [{ COMMANDS }, { run }] = await Promise.all([import('./commands.ts'), import('./run.ts')]);
  await run(process.argv.slice(2), COMMANDS);
} else {
  process.stderr.write(`[error] ${problem}\n`);
  process.exitCode = 1;
}
