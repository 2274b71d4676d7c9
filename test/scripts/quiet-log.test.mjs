// What npm start passes on of the server's lines.

import { expect, test } from 'vitest';
import { QuietLog } from '../../scripts/quiet-log.mjs';

test('quiet-log leaves out the lines of a talk, also the last one, which comes after it', () => {
  let passed = '';
  const log = new QuietLog((text) => (passed += text));
  const post = (status) => `[info] POST /v1/chat/completions ${status} · 44 + 23 tokens\n`;
  log.add('[success] Rea');
  log.add('dy\n');
  log.begin();
  log.add(`${post(200)}[info] Open: model\n`);
  log.end(2);
  log.add(`[warn] short of memory\n${post(200)}`);
  log.add(post(404));
  expect(passed).toBe(`[success] Ready\n[warn] short of memory\n${post(404)}`);
});
