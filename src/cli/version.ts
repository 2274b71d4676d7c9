// svc version: prints the version on standard output.

import { createCommand } from './options/command.ts';
import { packageVersion } from './process/package.ts';
import { writeLine } from './process/terminal.ts';

export const version = createCommand({
  name: 'version',
  summary: 'Print the version.',
  options: {},
  run() {
    writeLine(packageVersion());
    return Promise.resolve();
  },
});
