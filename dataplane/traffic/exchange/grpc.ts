import { fieldIn } from '../codec/http1/kept-lines.ts';
import type { Exchange } from './exchange.ts';

/** Whether it is a gRPC call: those have their own deadline, and both sides may be silent without a limit. */
export const isGrpc = (x: Exchange): boolean => /^application\/grpc\b/i.test(fieldIn(x.fields, 'content-type') ?? '');
