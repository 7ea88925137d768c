//! What was found under a path.

use brunt_plan::work::{Node, Sight};

use super::lun;
use crate::error::{WireError, need};
use crate::v1;

impl From<Sight> for v1::Sight {
    fn from(sight: Sight) -> Self {
        let Sight { kind, identity, size, allow_in_use, overwrite, node } = sight;
        let kind = v1::LunKind::from(kind).into();
        Self { kind, identity, size, allow_in_use, overwrite, node: node.map(Into::into) }
    }
}

impl TryFrom<v1::Sight> for Sight {
    type Error = WireError;

    fn try_from(sight: v1::Sight) -> Result<Self, WireError> {
        let v1::Sight { kind, identity, size, allow_in_use, overwrite, node } = sight;
        let kind = lun::kind("Sight", kind)?;
        Ok(Self { kind, identity, size, allow_in_use, overwrite, node: node.map(TryInto::try_into).transpose()? })
    }
}

impl From<Node> for v1::Node {
    fn from(node: Node) -> Self {
        use v1::node::Node as Wire;
        Self {
            node: Some(match node {
                Node::File(device, inode) => Wire::File(v1::FileNode { device, inode }),
                Node::Block(number) => Wire::Block(number),
                Node::Character(number) => Wire::Character(number),
            }),
        }
    }
}

impl TryFrom<v1::Node> for Node {
    type Error = WireError;

    fn try_from(node: v1::Node) -> Result<Self, WireError> {
        use v1::node::Node as Wire;
        Ok(match need(node.node, "Node", "node")? {
            Wire::File(file) => Node::File(file.device, file.inode),
            Wire::Block(number) => Node::Block(number),
            Wire::Character(number) => Node::Character(number),
        })
    }
}
