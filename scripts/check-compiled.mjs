// What a GPU's compiler makes of the kernels of GPU profiles, on a machine without one: Mesa's RADV compiles those that `npm run gpu-check` launches
// for a card that is not there. A kernel that spills registers, or of which too few groups fit a SIMD, is a failure; figures that differ from the
// page scripts/bench/compiled.md are, too, where the driver's version is that of the page.
//   node scripts/check-compiled.mjs            checks the first card; says NOT RUN where the driver cannot be had
//   node scripts/check-compiled.mjs --write    writes the page, of all cards

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compileFor } from './compiled/compiled-for.mjs';
import { pageOf, sectionOf, versionIn } from './compiled/page.mjs';
import { problemsOf } from './compiled/rules.mjs';

const PAGE = fileURLToPath(new URL('bench/compiled.md', import.meta.url));
/** Mesa's name of each card, and a name by which the engine finds its profile. */
const CARDS = [
  { gpu: 'navi31', card: 'AMD Radeon RX 7900 XTX', architecture: 'RDNA 3' },
  { gpu: 'navi21', card: 'AMD Radeon RX 6900 XT', architecture: 'RDNA 2' },
];

const isWriting = process.argv.includes('--write');
const cards = isWriting ? CARDS : CARDS.slice(0, 1);
const results = [];
let reason = null;
for (const one of cards) {
  const compiled = await compileFor(one);
  if ('reason' in compiled) reason = compiled.reason;
  else results.push({ ...one, ...compiled });
}
if (reason !== null) console.log(`kernels compiled by RADV: NOT RUN (${reason})`);
else process.exitCode = check(results);

/** @returns {number} the exit code */
function check(results) {
  const problems = results.flatMap(problemsOf);
  const [{ driver }] = results;
  if (isWriting) writeFileSync(PAGE, pageOf(results));
  const page = existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '';
  if (versionIn(page) === driver && !results.every((result) => page.includes(sectionOf(result))))
    problems.push('scripts/bench/compiled.md has other figures: run node scripts/check-compiled.mjs --write');
  for (const problem of problems) console.error(problem);
  const count = results.reduce((sum, { pipelines }) => sum + pipelines.length, 0);
  console.log(`${driver}: ${count} pipelines for ${results.map(({ gpu }) => gpu).join(' and ')}`);
  return problems.length > 0 ? 1 : 0;
}
