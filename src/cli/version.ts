// svc version: prints the version on standard output.

import { createCommand } from './command.ts';
import { packageVersion } from './package.ts';
import { writeLine } from './terminal.ts';

export const version = createCommand({
  name: 'version',
  summary: 'Print the version.',
  options: {},
  run() {
    writeLine(packageVersion());
    return Promise.resolve();
  },
});
