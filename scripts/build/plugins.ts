import { readFile } from 'node:fs/promises';
import { createRequire, isBuiltin } from 'node:module';
import { relative, resolve } from 'node:path';
import type { Plugin } from 'esbuild';

const require = createRequire(import.meta.url);

/**
 * Sources find other files relative to import.meta.url, which is that of the bundle once they are bundled: this keeps each one's own. What
 * they require, esbuild bundles only without a `require` of their own; it runs when it is first required, as from the sources.
 */
export const keepAddresses = (outdir: string): Plugin => ({
  name: 'keep-addresses',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const own = JSON.stringify(`./${relative(outdir, path).replace(/\.ts$/, '.js')}`);
      const text = (await readFile(path, 'utf8')).replace(/^const require = createRequire\(import\.meta\.url\);$/m, '');
      return { contents: text.replaceAll('import.meta.url', `new URL(${own}, import.meta.url).href`), loader: 'ts' };
    });
  },
});

/** Packages that are imported only when they are needed stay where npm installed them, and so does one that is large and rarely needed. */
const RARELY_NEEDED = 're2js';

export const leavePackages: Plugin = {
  name: 'leave-packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ kind, path }) =>
      kind === 'dynamic-import' || path === RARELY_NEEDED ? { external: true } : undefined,
    );
  },
};

/**
 * An import of one of Node's modules reads all its exports, and many are getters that load more: those of node:http load fetch and WebSocket,
 * those of node:fs its streams and promises. `require` reads what is used, also for packages.
 */
export const requireBuiltins: Plugin = {
  name: 'require-builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^[a-z]/ }, ({ kind, path }) =>
      kind === 'import-statement' && isBuiltin(path) ? { path: path.replace(/^(node:)?/, 'node:'), namespace: 'builtin' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'builtin' }, ({ path }) => {
      const names = Object.keys(require(path)).filter((name) => name !== 'default');
      const exports = names.map((name) => `export const ${name} = /* @__PURE__ */ (() => builtin.${name})();\n`);
      return { contents: `const builtin = require('${path}');\nexport default builtin;\n${exports.join('')}` };
    });
  },
};

/**
 * The Kubernetes client has a class for each kind of object, but needs no class to read its configuration. Its own files name each
 * other with their extension: letting esbuild resolve each of them would take ten times as long as the whole build.
 */
export const leaveUnusedModels: Plugin = {
  name: 'leave-unused-models',
  setup({ onResolve, resolve: found }) {
    onResolve({ filter: /^@kubernetes\/client-node$/ }, async ({ path, importer, resolveDir, kind, pluginData }) =>
      pluginData === 'resolved'
        ? undefined
        : { ...(await found(path, { importer, resolveDir, kind, pluginData: 'resolved' })), sideEffects: false },
    );
    onResolve({ filter: /^\..*\.js$/ }, ({ path, importer, resolveDir }) =>
      importer.includes('/@kubernetes/client-node/') ? { path: resolve(resolveDir, path), sideEffects: false } : undefined,
    );
  },
};

/**
 * Express always loads its parsers of request bodies and of nested queries, the list of all media types, and what sends files. The Admin API
 * uses none of them: it limits bodies before it reads them, and sets each media type itself. Together they are most of what Express imports,
 * with half a megabyte of character encodings, and loading them would take 20 ms of each start.
 */
const UNUSED_BY_EXPRESS = /^(body-parser|mime-db|qs|send|serve-static)$/;

export const leaveOutUnused: Plugin = {
  name: 'leave-out-unused',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: UNUSED_BY_EXPRESS }, ({ path }) => ({ path, namespace: 'left-out' }));
    onLoad({ filter: /./, namespace: 'left-out' }, () => ({ contents: 'module.exports = {};' }));
  },
};
