// For processes that tests start: node --import test/built.mjs some-script.ts. What the script imports from src/ is taken from the build in dist/, which
// loads in a fraction of the time, and the test's own TypeScript loses its types.

import { register } from 'node:module';

register(new URL('built-hooks.mjs', import.meta.url));
