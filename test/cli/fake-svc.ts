// svc with the fake model in place of the engine, as a process of its own.

import { run } from '../../src/cli/run.ts';
import { FAKE_COMMANDS } from './fake-commands.ts';

await run(process.argv.slice(2), FAKE_COMMANDS);
