import type * as Https from 'node:https';
import type * as Tls from 'node:tls';
import type * as Zlib from 'node:zlib';

/**
 * Modules of Node that many processes and workers never use: loading each of them takes 4 to 7 ms of a start, before the first request is
 * served.
 */
export const https = (): typeof Https => process.getBuiltinModule('node:https');
export const tls = (): typeof Tls => process.getBuiltinModule('node:tls');
export const zlib = (): typeof Zlib => process.getBuiltinModule('node:zlib');
