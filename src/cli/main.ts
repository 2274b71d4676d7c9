#!/usr/bin/env node
// The executable svc. A command loads the engine when it needs it.

import { COMMANDS } from './commands.ts';
import { run } from './run.ts';

await run(process.argv.slice(2), COMMANDS);
