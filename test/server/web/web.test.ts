import { describe, expect, it } from 'vitest';
import { start } from '../harness.ts';

const BROWSER = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };

describe('the route /', () => {
  it('shows a browser the page, whose files come without a key and as what they are', async () => {
    const { url } = await start({ apiKey: 'k', mcpOrigins: ['https://tools.example.org'] });
    const page = await fetch(url, { headers: BROWSER });
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).toMatch(/connect-src 'self' [^;]*https:\/\/tools\.example\.org/);
    const files = [...(await page.text()).matchAll(/(?:src|href)="(web\/[^"]+)"/g)].map(([, name]) => name);
    expect(files).toEqual(['web/page.css', 'web/page.js']);
    for (const name of files) {
      const file = await fetch(`${url}/${name}`);
      expect([file.status, file.headers.get('content-type')]).toEqual([
        200,
        expect.stringContaining(name!.endsWith('.js') ? 'text/javascript' : 'text/css'),
      ]);
    }
    for (const wrong of ['web/absent.js', 'web/..%2findex.js', 'web/index.html'])
      expect((await fetch(`${url}/${wrong}`)).status, wrong).toBe(404);
  });

  it('sends a browser to /docs where the page is left out', async () => {
    const { url } = await start({ web: false });
    const page = await fetch(url, { headers: BROWSER, redirect: 'manual' });
    expect([page.status, page.headers.get('location')]).toEqual([302, '/docs']);
    expect((await fetch(`${url}/web/page.js`)).status).toBe(404);
  });

  it('tells other clients what is here, without a key', async () => {
    const { url } = await start({ apiKey: 'k', version: '1.2.3' });
    const probe = await fetch(url);
    expect(probe.status).toBe(200);
    expect(await probe.json()).toMatchObject({ name: 'svc-engine', version: '1.2.3', docs: '/docs' });
    expect((await fetch(url, { method: 'HEAD' })).status).toBe(200);
  });
});
