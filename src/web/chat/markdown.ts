// Markdown as blocks of safe HTML. HTML within Markdown is shown as text: a reply writes no markup of its own into the page.

import { signal } from '@preact/signals';
import DOMPurify from 'dompurify';
import { Marked, type Token, type TokenizerAndRendererExtension, type Tokens } from 'marked';

/** What shows mathematics and colours code, each loaded when a text first has it. */
type Renderer = (text: string, kind: string) => string;
const loaders = {
  math: () => import('./math.ts').then(({ renderMath }) => renderMath),
  code: () => import('./highlight.ts').then(({ highlight }) => highlight),
};
const renderers: Partial<Record<keyof typeof loaders, Renderer>> = {};
const asked = new Set<string>();
/** Counts what was loaded: texts are shown anew then. */
export const loadedRenderers = signal(0);

/** The HTML of a text by a renderer; null until that is loaded. */
function rendered(by: keyof typeof loaders, text: string, kind: string): string | null {
  const renderer = renderers[by];
  if (renderer) return renderer(text, kind);
  if (!asked.has(by)) {
    asked.add(by);
    void loaders[by]().then(
      (loaded) => {
        renderers[by] = loaded;
        loadedRenderers.value += 1;
      },
      // A part that could not be fetched is asked for again by the next text.
      () => void asked.delete(by),
    );
  }
  return null;
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

const BLOCK_BEGIN = /(?<=^|\n)(?:\$\$|\\\[)/;
const BLOCK_MATH = /^(?:\$\$([\s\S]+?)\$\$|\\\[([\s\S]+?)\\\])(?:\s*\n|$)/;
const INLINE_MATH =
  /^(?:\$\$([^\n]+?)\$\$|\\\[([^\n]+?)\\\]|\\\((.+?)\\\)|\$(?=\S)((?:\\.|[^\\$\n])+?)(?<=\S)\$(?!\d))/;

function mathExtension(
  name: string,
  level: 'block' | 'inline',
  pattern: RegExp,
): TokenizerAndRendererExtension {
  return {
    name,
    level,
    start: (source) => (level === 'block' ? BLOCK_BEGIN : /\$|\\[[(]/).exec(source)?.index,
    tokenizer(source) {
      const match = pattern.exec(source);
      const text = match?.slice(1).find((part) => part !== undefined);
      return match && text !== undefined ? { type: name, raw: match[0], text } : undefined;
    },
    renderer({ text, raw }) {
      const kind = level === 'block' || /^\$\$|^\\\[/.test(raw) ? 'display' : 'inline';
      const html = rendered('math', String(text), kind) ?? `<code>${escapeHtml(String(text))}</code>`;
      return kind === 'display' ? `<div class="scroll math" tabindex="0">${html}</div>` : html;
    },
  };
}

const marked = new Marked({
  gfm: true,
  breaks: true,
  renderer: {
    html: ({ text }) => escapeHtml(text),
    code({ text, lang = '' }: Tokens.Code) {
      const language = lang.split(/\s/)[0] ?? '';
      const html = (language && rendered('code', text, language)) || escapeHtml(text);
      const label = language ? ` of ${escapeHtml(language)}` : '';
      return `<div class="code"><div><span>${escapeHtml(language)}</span><button type="button" class="copy-code" aria-label="Copy this code${label}">Copy</button></div><pre tabindex="0"><code>${html}</code></pre></div>`;
    },
    // The page loads nothing from elsewhere, so that no image tells others what is read here.
    image({ href, text }) {
      const url = escapeHtml(href);
      const label = escapeHtml(text);
      return href.startsWith('data:image/')
        ? `<img src="${url}" alt="${label}">`
        : `<a href="${url}">${label || url}</a>`;
    },
  },
});

marked.use({
  extensions: [
    mathExtension('blockMath', 'block', BLOCK_MATH),
    mathExtension('inlineMath', 'inline', INLINE_MATH),
  ],
});

/** The blocks of a text: a growing text changes its last ones alone. */
export const blocksOf = (text: string): Token[] => marked.lexer(text).filter(({ type }) => type !== 'space');

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.nodeName !== 'A') return;
  node.setAttribute('target', '_blank');
  node.setAttribute('rel', 'noopener noreferrer');
});

/** A block as HTML that can do no harm, without styles of its own. */
export function blockHtml(block: Token): string {
  const html = marked
    .parser([block])
    .replaceAll('<table>', '<div class="scroll" tabindex="0"><table>')
    .replaceAll('</table>', '</table></div>');
  return DOMPurify.sanitize(html, {
    FORBID_ATTR: ['style'],
    FORBID_TAGS: ['style', 'form'],
    ADD_ATTR: ['target'],
  });
}
