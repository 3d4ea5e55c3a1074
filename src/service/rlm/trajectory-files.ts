/** The part of recursive runs that surfaces may use to show a trajectory. */
export { type Cost, tokensOf } from "../../rlm/trajectory/cost.ts";
export { readTrajectory, type Trajectory } from "../../rlm/trajectory/reader.ts";
export {
  type CallNode,
  type RunNode,
  type TrajectoryTree,
  type TurnNode,
  trajectoryTree,
} from "../../rlm/trajectory/tree.ts";
export { countText, durationText, moneyText, tokensText } from "../../rlm/view/numbers.ts";
export { trajectoryPage } from "../../rlm/view/page.ts";
