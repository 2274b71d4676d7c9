// The routes that need no key, and the page that tells of them.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { ROUTES } from '../../src/server/routes.ts';

it('the README names every route that is open under --api-key', () => {
  const readme = readFileSync(new URL('../../src/server/README.md', import.meta.url), 'utf8');
  const [text] = /^- \*\*Keys\*\*.*(?:\n {2}.*)*/m.exec(readme)!;
  const named = [...text.matchAll(/`(\/[\w./*]*)`/g)].map(([, path]) => path);
  const open = Object.entries(ROUTES)
    .filter(([, methods]) => Object.values(methods).some(({ access }) => access === 'open'))
    .map(([path]) => path);
  // Drawn images have addresses of their own.
  expect(new Set(named)).toEqual(new Set(open.filter((path) => !path.includes('images'))));
});
