import type * as http from 'node:http';

/**
 * The parts of node:http that the processes use. An import of that module reads each of its exports, and one of them is a getter that loads
 * Node's fetch and WebSocket into the thread: 50 ms of CPU time and 15 MB in a process that loads nothing else.
 */
export const { Agent, createServer, get, METHODS, request, STATUS_CODES, validateHeaderName, validateHeaderValue } =
  process.getBuiltinModule('node:http');
export type Agent = http.Agent;
