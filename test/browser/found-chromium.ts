// The Chromium that tests drive.

import { findChromium } from '../../scripts/setup/chromium.mjs';

/**
 * Path of the browser; null: there is none. scripts/test.mjs names the one that it found, '' if it found none; a test file that runs by itself
 * looks for one.
 */
export const FOUND_CHROMIUM = (process.env['SVC_CHROMIUM'] ?? (await find())) || null;

async function find(): Promise<string | null> {
  const answer = await findChromium();
  if ('path' in answer) return answer.path;
  console.log(`Chromium: NOT RUN (${answer.reason})`);
  return null;
}
