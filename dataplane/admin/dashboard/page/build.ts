import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const HERE = fileURLToPath(new URL('.', import.meta.url));

/** Browsers of the last two years. */
const TARGET = ['chrome125', 'edge125', 'firefox128', 'safari17.5'];

/** Builds the page: one HTML file that contains everything. @throws with esbuild's messages if a source is wrong. */
export async function buildPage(): Promise<string> {
  const shared = { bundle: true, write: false, minify: true, target: TARGET, legalComments: 'none', logLevel: 'silent' } as const;
  const [script, style, frame] = await Promise.all([
    build({ ...shared, entryPoints: [`${HERE}main.tsx`], format: 'iife', jsx: 'automatic', jsxImportSource: 'preact' }),
    build({ ...shared, entryPoints: [`${HERE}style/style.css`] }),
    readFile(`${HERE}index.html`, 'utf8'),
  ]);
  // Neither may end its element early.
  const inline = (text: string): string => text.trim().replaceAll('</', '<\\/');
  return frame
    .replace('/*style*/', () => inline(style.outputFiles[0]?.text ?? ''))
    .replace('/*script*/', () => inline(script.outputFiles[0]?.text ?? ''));
}

// `node build.ts FILE` writes it to a file.
