/** Beside the other fixtures of these tests. It is in `shared/`, because fixtures of both processes use it. */
export { until } from '../../shared/runtime/testing/until.ts';
